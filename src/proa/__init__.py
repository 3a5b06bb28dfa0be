"""proa serves language models on GPUs that people own.

Rooms are packages; each opens with a sign that says what lives there.
Start reading at ARCHITECTURE.md, or at `cli/serve/compose.py`, which joins the programs.
"""

__version__ = "0.1.0"
