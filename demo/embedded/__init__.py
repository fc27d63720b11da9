"""Deploys the real template into an embedded AWS."""
