"""AWS services in memory."""
