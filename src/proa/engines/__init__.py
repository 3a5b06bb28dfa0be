"""What proa knows of each engine's dialect: probes, model lists, results, errors in streams.

Descriptions and parsers only, bytes in and values out: who sends the probes is control/,
who relays answers is gateway/. Start with `base.py`; `adapters.py` has the table.
"""
