"""Reads README, docs and the OpenAPI description for tests."""
