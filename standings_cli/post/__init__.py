"""Posts events, one or a file of them, to the queue of a stack."""
