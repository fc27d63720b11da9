"""Load tests: made-up events at a steady rate."""
