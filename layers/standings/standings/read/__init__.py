"""Answers questions about boards and rankings from the sorted index and the tier tree."""
