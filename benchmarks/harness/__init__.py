"""The tools of the benchmarks: boards of known shape, and a client that counts units and round trips."""
