"""Moves members in the rankings as their items change."""
