"""Rebuilds and deletes boards."""
