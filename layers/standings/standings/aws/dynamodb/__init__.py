"""DynamoDB: keys, items and requests."""
