"""Runs the functions in the test process, and starts the servers that tests need."""
