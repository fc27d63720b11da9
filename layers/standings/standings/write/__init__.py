"""Applies events to members' items, each exactly once."""
