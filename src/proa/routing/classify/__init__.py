"""What kind of request a text is: character n-grams and a logistic regression.

Pure: texts and numbers in, names and probabilities out; no text is kept.
Start with `model.py`; `training.py` makes a model, `examples.py` texts to learn from.
"""
