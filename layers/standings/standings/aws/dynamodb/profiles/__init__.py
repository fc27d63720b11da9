"""The table Profiles."""
