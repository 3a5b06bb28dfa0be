"""What one engine start would log, engine by engine and version by version.

`fit.fit` takes a start and gives its memory line by line; a profile per engine says how.
"""
