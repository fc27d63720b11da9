"""Events, and the rules they keep."""
