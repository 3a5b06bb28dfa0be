"""What hardware costs, what it draws, and what else the money could buy.

Every line of a bill has its formula and the numbers put in.
"""
