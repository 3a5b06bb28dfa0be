"""How near `proa bench compare` comes to a delay that is known, and how soon.

Begin with `__main__.py`.
"""
