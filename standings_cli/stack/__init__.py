"""Reaches a stack: its HTTP API, its queue and its maintenance function."""
