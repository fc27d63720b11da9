"""The only package that speaks to DynamoDB: keys, items, transactions, and the stores that the services ask for."""
