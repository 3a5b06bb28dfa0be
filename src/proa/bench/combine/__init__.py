"""Servers alone and together: how much a main and an auxiliary server gain behind one address.

Begin with `run.py` (blocks in random order); `gain.py` says what they add up to, `sites.py`
whether all places of the clients were served alike.
"""
