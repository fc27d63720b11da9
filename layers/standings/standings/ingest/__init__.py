"""Accepts events over HTTP and puts them on the queue."""
