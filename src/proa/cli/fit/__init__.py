"""`proa fit`: one engine start, as it would be logged.

`command` is the verb; values and fields are read as `proa plan` reads them.
"""
