"""Standings beside other ways to rank members, and how each grows."""
