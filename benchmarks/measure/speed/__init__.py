"""How fast the code is, and how fast a function starts."""
