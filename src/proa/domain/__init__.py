"""What things are: engines and the fleet, requests, outcomes.

Only plain, frozen values live here; nothing decides, nothing does I/O.
Start with `fleet.py`.
"""
