"""Which policy serves how many: pairs of unequal engines under one load, policy by policy.

`virtual.py` and `oracle.py` are in virtual time and without processes: for tuning, and
for what nobody can measure. `__main__.py` runs real processes beside other gateways.
"""
