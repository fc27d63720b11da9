"""Compares Rankings with Scores."""
