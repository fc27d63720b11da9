"""Starts the command line: which commands there are, and their parser."""
