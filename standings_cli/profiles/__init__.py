"""Writes the profiles of a file."""
