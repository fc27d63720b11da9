"""The operations of DynamoDB."""
