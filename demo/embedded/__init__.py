"""The real template in an embedded AWS."""
