"""From a head count to sessions at once: users, requests, their lengths and times.

Pure arithmetic with every step kept, so that a person can follow it.
"""
