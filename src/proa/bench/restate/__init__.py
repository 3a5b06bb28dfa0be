"""Result files of other load generators, restated under proa's definitions.

One file per tool; `restated.py` is what they give, `read_foreign.py` finds the tool. What a file
does not hold is said, never guessed.
"""
