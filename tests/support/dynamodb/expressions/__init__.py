"""Parses and evaluates the expressions of DynamoDB's requests."""
