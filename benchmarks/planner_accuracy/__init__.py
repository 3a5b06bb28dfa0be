"""How far the planner is from what real engines logged and measured, by kind of case.

`python -m benchmarks.planner_accuracy memory` compares start-up logs of vLLM with `fit`.
Rows, with their sources, are in tests/planner/data.
"""
