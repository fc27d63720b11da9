"""A function's environment variables, and the path of its `boards.toml`."""

import os
from pathlib import Path
from typing import Final

BOARDS_FILE: Final = Path(__file__).parents[2] / "boards.toml"


def given(name: str) -> str | None:
    """Return an environment variable; None if it is missing or empty."""
    return os.environ.get(name) or None


def required(name: str) -> str:
    """Return an environment variable; LookupError if it is missing or empty."""
    value = os.environ.get(name)
    if not value:
        raise LookupError(f"environment variable {name} is not set; set it as template.yaml does")
    return value
