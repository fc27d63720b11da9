"""Boards that are damaged while an audit looks."""
