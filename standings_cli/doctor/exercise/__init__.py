"""Proves the ranks of a stack on a board of its own: posts events, and compares every answer with a sort."""
