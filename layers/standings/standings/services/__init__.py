"""What the functions do, given a store, a clock and chance: write events, project changes, answer questions."""
