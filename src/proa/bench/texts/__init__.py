"""Texts for prompts, Korean and English, made by small grammars and not collected anywhere.

They are grammatical office prose without facts in it. Each text follows from its seed.
Begin with `grammar.py`; a language is its rules (`korean.py`, `english.py`).
"""
