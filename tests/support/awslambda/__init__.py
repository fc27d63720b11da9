"""Lambda's pollers of the queue and of the stream, and what a handler gets."""
