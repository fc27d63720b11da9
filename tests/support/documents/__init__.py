"""What README and docs tell people to type."""
