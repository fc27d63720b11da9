"""Windows of time and their periods."""
