"""What maintenance takes."""
