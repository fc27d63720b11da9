"""Compares Standings with other ways to rank members, and measures how its costs grow."""
