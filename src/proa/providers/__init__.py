"""Where engines run: processes of this machine, and the embedded llama.cpp server.

Nothing here asks engines about their load (engines/) or decides how many there are.
Start with `local.py`.
"""
