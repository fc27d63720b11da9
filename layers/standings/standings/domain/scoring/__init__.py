"""Scores: how events add up, and how a list is ordered."""
