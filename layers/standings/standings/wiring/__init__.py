"""What functions have in common: each puts itself together from it, and imports only what it uses."""
