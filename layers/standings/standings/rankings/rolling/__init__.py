"""Rankings of rolling windows: all periods of a window in one row for each member."""
