"""Posts the rows of a file, exactly once."""
