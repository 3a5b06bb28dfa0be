"""What may be promised: the clause in two languages, its table, and the run that confirms it.

Wording only; the numbers come from the other rooms.
"""
