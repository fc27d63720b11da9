"""Benchmarks that measure the product's code."""
