"""The operations of DynamoDB, as methods of a client."""
