"""Mistakes in `boards.toml`, and the lines that they are in."""

import tomllib
from collections.abc import Mapping
from typing import Any

Path = tuple[str, ...]
"""Keys from the top of the file to a value. That of an element of a list is its position, from 0."""


class Mistake(Exception):
    """A value that is wrong: the path to it, and the reason."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path[-1]}: {reason}")
        self.path = path


def check_keys(path: Path, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Mistake for a key that is not known."""
    for key in table:
        if key not in known:
            raise Mistake((*path, key), f"unknown key, expected one of {', '.join(known)}")


def line_of(text: str, path: Path) -> int:
    """The line of the statement that adds the path, or as much of it as the document has.

    tomllib keeps no positions. So parse longer and longer beginnings of the text until one has that much of the path.
    """
    lines = text.splitlines()
    depth = _depth(tomllib.loads(text), path)
    line = 1
    for end in range(1, len(lines) + 1):
        try:
            document = tomllib.loads("\n".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue  # The statement goes on in the next line.
        if _depth(document, path) >= depth:
            break
        line = end + 1
    return line


def _depth(value: Any, path: Path) -> int:
    """How many steps of a path are there."""
    if not path:
        return 0
    key = path[0]
    if isinstance(value, list):
        value = {str(position): element for position, element in enumerate(value)}
    if not isinstance(value, dict) or key not in value:
        return 0
    return 1 + _depth(value[key], path[1:])
