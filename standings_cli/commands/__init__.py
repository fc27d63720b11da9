"""The commands of `standings`."""
