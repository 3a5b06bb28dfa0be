"""`proa bench`: a module per sub-verb, and the report of a run.

`command` finds the sub-verb; `*_view` modules print a result.
"""
