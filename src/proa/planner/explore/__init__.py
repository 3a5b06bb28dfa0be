"""The search over the whole space of GPUs, layouts, precisions and contexts, in columns.

The same arithmetic as `place`, for all configurations at once.
"""
