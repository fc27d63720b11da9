"""Commands that write whole lists."""
