"""Boards with periods that are settled, and what a sort of their scores says of the files."""
