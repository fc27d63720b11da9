"""Rolling windows: all periods of a window in one row for each member, in lists of blocks of periods, and in logs."""
