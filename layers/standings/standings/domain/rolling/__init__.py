"""Rolling windows: all periods of a window in one row, one list and one log for each member's change."""
