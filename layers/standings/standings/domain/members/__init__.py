"""A member's item, and what follows from it."""
