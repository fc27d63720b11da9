"""A real browser on the live page."""
