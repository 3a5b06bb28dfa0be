"""Public fakes: a scripted engine that can fail in every way, a fast one, a raw client.

They speak real sockets, so they test any gateway, not only this one. No test lives here.
Start with `scripted_engine.py`; the replies that it plays are built in `replies.py`.
"""
