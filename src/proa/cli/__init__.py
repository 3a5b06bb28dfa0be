"""The command line: one file per verb, each loaded only when its verb is called.

No logic of its own lives here; what verbs have in common is in `main.py`.
Start with `main.py`, and with `compose.py`, which joins the programs.
"""
