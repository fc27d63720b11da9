"""Load tests: random events at a steady rate."""
