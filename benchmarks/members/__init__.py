"""Members with a history of days, loaded at once into every window of a board; and what their events cost."""
