"""One start-up log, and what it says of other starts on the same machine.

Facts come from `boot_log`; the profiles of `fit` are corrected by what was logged.
"""
