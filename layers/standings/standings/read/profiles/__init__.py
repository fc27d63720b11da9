"""Answers questions about profiles, and shows them in other answers."""
