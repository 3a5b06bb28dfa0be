"""Does a cheaper precision still answer right? The same questions to two endpoints, no judge.

Begin with `run.py`; `checks.py` says what is right, `needle.py` and `samples.py` make questions,
`verdict.py` compares. What a case file holds: `cases.py` and docs/bench-compare.md.
"""
