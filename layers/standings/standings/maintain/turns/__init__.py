"""Visits all boards in turn, one run at a time."""
