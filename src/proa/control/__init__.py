"""The control plane: the engine registry, polling and health, the admin API.

No client request passes here (gateway/), and nothing here knows an engine's dialect (engines/).
Start with `registry.py`.
"""
