"""A mistake in `boards.toml`, found before its line is known."""

from collections.abc import Mapping
from typing import Any

TomlPath = tuple[str, ...]  # Keys from the top of the file to a value


class Mistake(Exception):
    """What is wrong with the value at a path."""

    def __init__(self, path: TomlPath, reason: str) -> None:
        super().__init__(f"{path[-1]}: {reason}")
        self.path = path


def check_keys(path: TomlPath, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Refuse a key that is not known."""
    for key in table:
        if key not in known:
            raise Mistake((*path, key), f"unknown key, expected one of {', '.join(known)}")
