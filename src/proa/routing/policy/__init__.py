"""How one engine is picked among candidates: one file per policy.

Nothing here knows rules, models or breakers; candidates come in, one goes out.
Start with `base.py`; `registry.py` is the table of all policies.
"""
