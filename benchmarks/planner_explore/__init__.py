"""How long the planner's search takes, alone and beside another tool's for the same question."""
