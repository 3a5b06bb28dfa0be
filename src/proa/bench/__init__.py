"""The measurement of an OpenAI-compatible endpoint: load, clock, boundary, comparison, report.

It is a client only and never imports the gateway; what it keeps is a file of one run.
Begin with `visit.py` (one level) and `connection.py` (the clock); `sample.py` is what is kept.
"""
