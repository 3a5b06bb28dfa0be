"""Counters in shared memory, Prometheus text, logs.

Nothing here decides; programs write, the control plane reads.
Start with `rows.py`.
"""
