"""What AWS documents that its services send: one file for each message, with the title of the page that shows it.

The files have AWS's envelopes, account numbers and made-up ids, but around items and events of this project, so that
the functions can work on them.
"""

from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson

FOLDER: Final = Path(__file__).parents[2] / "functions" / "documented"
OPEN: Final = frozenset(
    {"Keys", "NewImage", "OldImage", "Item", "headers", "queryStringParameters", "messageAttributes"}
)
"""Fields whose names are the sender's own."""


def documented(name: str) -> Any:
    """Return the content of a file. Each call returns another copy."""
    return deepcopy(_file(name)["content"])


def page(name: str) -> str:
    """Return the title of the page that shows the content of a file."""
    title: str = _file(name)["page"]
    return title


@cache
def _file(name: str) -> Any:
    return orjson.loads((FOLDER / f"{name}.json").read_bytes())


def shape(value: Any, path: str = "") -> dict[str, str]:
    """Return the type of each field of a message, by its path. Fields of all members of a list share a path."""
    kinds = {path: type(value).__name__}
    if isinstance(value, dict) and path.rpartition(".")[2] not in OPEN:
        for name, inner in value.items():
            kinds |= shape(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for inner in value:
            kinds |= shape(inner, f"{path}[]")
    return kinds
