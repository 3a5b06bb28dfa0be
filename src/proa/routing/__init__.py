"""Which engine gets a request: rules, policies, circuit breaker, retry budget.

Pure functions and small state machines; no I/O, time and chance are arguments.
Start with `router.py`.
"""
