"""Checks that a stack is deployed as it should be, and proves its ranks on a board of its own."""
