"""Puts each function together."""
