"""Rankings of `all`, of calendar periods and of seasons."""
