"""Tables, items, indexes and streams in memory."""
