"""The configuration: proa.toml, keys.toml, environment and flags in, frozen settings out.

The settings themselves live beside their consumers (gateway/settings.py, control/settings.py).
Nothing else reads the environment.
Start with `load.py`.
"""
