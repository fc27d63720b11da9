"""Benchmarks that measure the real code."""
