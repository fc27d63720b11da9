"""Moves members in the rankings when their items change."""
