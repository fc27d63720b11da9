"""A client whose calls fail, and threads that take turns."""
