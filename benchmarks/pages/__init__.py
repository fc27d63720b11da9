"""The tables and pictures that pages show."""
