"""The deployed functions in this process, and the servers that tests start."""
