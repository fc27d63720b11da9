"""What the live page asks of the API."""
