"""The clock and retries, caches, logs, and the environment."""
