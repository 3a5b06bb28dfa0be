"""Two ways to the same engine, as straight and through a gateway: what the second one costs.

Begin with `run.py`; `shifts.py` and `buffering.py` judge what it measured, `verdict.py` sums up.
"""
