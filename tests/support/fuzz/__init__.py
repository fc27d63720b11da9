"""Nearly valid input."""
