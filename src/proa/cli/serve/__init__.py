"""`proa serve`: the one place that knows every class, and the engines while the gateway runs.

`command` is the verb; `compose` puts supervisor, registry and control API together.
"""
