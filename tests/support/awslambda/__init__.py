"""Invokes handlers as Lambda does: the pollers of the queue and the stream, and the context of an invocation."""
