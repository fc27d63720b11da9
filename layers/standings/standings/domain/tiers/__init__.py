"""The tier tree: ranks by counting."""
