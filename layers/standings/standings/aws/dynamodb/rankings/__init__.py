"""The table Rankings."""
