"""What benchmarks measure with: boards of known shape, and a client that counts units and round trips."""
