"""Runs all of Standings in an embedded AWS, and checks it against a brute-force sort."""
