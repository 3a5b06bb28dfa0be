"""How much of what is personal the guard finds, how fast, and what another tool finds."""
