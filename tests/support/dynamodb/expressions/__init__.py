"""The expressions of DynamoDB's requests."""
