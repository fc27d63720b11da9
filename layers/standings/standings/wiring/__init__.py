"""Assembles the services of each function."""
