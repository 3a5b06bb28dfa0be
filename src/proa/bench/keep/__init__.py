"""The file of one run: written as the run goes, read back to the last digit, checked, restated.

What is kept is what was seen (requests, the client's ticks, gauges), never a result of it.
Begin with `schema.py`; `run_file.py` writes, `read_run.py` reads.
"""
