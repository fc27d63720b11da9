"""Makes input that is nearly valid."""
