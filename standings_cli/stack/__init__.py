"""Calls a stack: its API, its queue and its maintenance function."""
