"""Clients that fail, and workers that take turns."""
