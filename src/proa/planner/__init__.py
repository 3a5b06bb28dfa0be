"""How many GPUs, of which kind, and what they can promise: demand, memory, speed, cost, clause.

Pure functions over facts that are passed in; no I/O and no network. Nothing is served here.
Start with `demand.py` for head counts, `fit.py` for one engine start.
"""
