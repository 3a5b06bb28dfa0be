"""What a model takes: its tensors, its weights by precision, its cache per token and sequence.

No engine yet; what engines add to it is next door in `fit`.
"""
