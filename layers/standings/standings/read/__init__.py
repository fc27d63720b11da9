"""Answers questions about rankings."""
