"""What a board costs in dollars, from its settings."""
