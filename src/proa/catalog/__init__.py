"""Facts with a source each: GPUs, models, and what was measured of them together.

Frozen rows and functions over them; no I/O, nothing is computed that was not measured.
Start with `step_times.py`.
"""
