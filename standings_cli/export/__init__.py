"""Writes a whole list."""
