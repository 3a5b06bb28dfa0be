"""`proa demo`: two real engines behind one gateway, measured, on this machine.

`command` is the verb; `run` is its course once everything runs.
"""
