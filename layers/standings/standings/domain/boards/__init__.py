"""Boards: what is counted and ranked, as `boards.toml` defines it."""
