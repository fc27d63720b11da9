"""Scores: how events add up, and how a ranking is ordered."""
