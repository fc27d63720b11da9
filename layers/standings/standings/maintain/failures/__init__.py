"""Shows and replays what could not be applied."""
