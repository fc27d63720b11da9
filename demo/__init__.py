"""The whole of Standings at work in an embedded AWS, checked against a brute-force sort."""
