"""A member's item, and the rankings and scores that follow from it."""
