"""What the stages need of a store."""
