"""Models of cost, capacity and lag."""
