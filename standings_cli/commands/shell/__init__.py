"""Commands for the shell that `standings` runs in."""
