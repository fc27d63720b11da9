"""Rolling windows: random boards and items, and a window whose members move while it is read."""
