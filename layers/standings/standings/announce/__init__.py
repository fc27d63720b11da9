"""Announces changes of a ranking's top."""
