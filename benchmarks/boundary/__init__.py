"""The search for the boundary on synthetic servers, beside the searches of guidellm and aiperf.

`python -m benchmarks.boundary` prints the tables of docs/bench-boundary.md; seeds are fixed,
nothing is served. Start in `families.py`.
"""
