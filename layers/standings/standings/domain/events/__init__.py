"""Events: their fields, and the rules for them."""
