"""The forms of a list: CSV with a header, and JSON lines."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from standings_cli.terminal import csv_line, plain

COLUMNS: Final = ("rank", "member", "score")


class Form(NamedTuple):
    """Text before the first line, an entry's line with its end, and how to read a file's members."""

    header: str
    line: Callable[[Mapping[str, Any]], str]
    members: Callable[[Path], Iterator[str]]


def cells(entry: Mapping[str, Any]) -> tuple[int, str, str]:
    """Return the cells of an entry, in the order of the columns."""
    return entry["rank"], entry["member"], plain(entry["score"])


def _csv_line(entry: Mapping[str, Any]) -> str:
    return csv_line(cells(entry))


def _csv_members(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from (row["member"] for row in csv.DictReader(file, strict=True))


def _json_line(entry: Mapping[str, Any]) -> str:
    return json.dumps({name: entry[name] for name in COLUMNS}, ensure_ascii=False) + "\n"


def _json_members(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        yield from (json.loads(line)["member"] for line in file)


FORMS: Final = {
    "csv": Form(csv_line(COLUMNS), _csv_line, _csv_members),
    "jsonl": Form("", _json_line, _json_members),
}
