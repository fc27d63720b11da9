"""An in-process DynamoDB, the pollers of Lambda and the servers that tests run against."""
