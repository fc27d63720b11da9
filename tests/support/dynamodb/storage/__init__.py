"""Keeps tables, items, indexes and streams in memory."""
