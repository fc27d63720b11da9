"""Registers, hides and removes members."""
