"""What the gateway costs: proa, nginx and a direct connection before the same engines.

`python -m benchmarks` measures and prints; it judges nothing and writes no file.
Not here: budgets that tests hold (tests/speed). Start in `__main__.py`.
"""
