"""DynamoDB for tests: an engine in the test process, and DynamoDB Local."""
