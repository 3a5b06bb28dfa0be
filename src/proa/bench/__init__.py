"""The measurement of an OpenAI-compatible endpoint: load, clock, boundary, comparison, report.

It is a client only and never imports the gateway; what it keeps is a file of one run.
It begins with `clock.py`.
"""
