"""What samples can carry: steady state, effective size, boundary, hinge, two against each other.

Pure functions: no clock, no I/O, chance is an argument. Begin with `search.py` (which level
next) and `conclusion.py` (what is known of the boundary); `evidence.py` is what both stand on.
"""
