"""Who may start, who waits, who is told to come back: the queue before the engines.

Pure: time is an argument, and whoever calls acts on what is returned.
Start with `queue.py`.
"""
