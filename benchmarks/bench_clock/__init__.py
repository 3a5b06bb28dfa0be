"""How true the clock of `proa bench` is, and of other load generators, before one server.

The server logs when it wrote each token; no GPU and no engine is needed.
Begin with `__main__.py`.
"""
