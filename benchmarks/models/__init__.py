"""Models of capacity and lag."""
