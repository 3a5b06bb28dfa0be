"""How far the planner is from what real engines logged and measured, by kind of case.

`python -m benchmarks.planner_accuracy memory` compares start-up logs of vLLM with `fit`;
`calibrated` each start with what the log of another one says of it.
Rows, with their sources, are in tests/planner/data.
"""
