"""Where a model goes: splits, replicas, what GPUs can promise, and what is too large or small.

A need is met only where memory and speed both hold.
"""
