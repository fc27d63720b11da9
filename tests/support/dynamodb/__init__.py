"""DynamoDB for tests: an engine in this process, and DynamoDB Local."""
