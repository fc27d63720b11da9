"""SQS: the queue of events and the dead-letter queue."""
