"""Reads profiles from the rows of a file, CSV or JSON lines."""

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from standings_cli.post.source import HalfLineError, InputError, Lines

FIELDS: Final = ("name", "picture", "country", "data")
"""The fields of a profile. An empty cell of a CSV file is absent; `null` in JSON removes the field."""


class Row(NamedTuple):
    """A row: its first line, its member and fields, or the problem with it. One that `is_half` may still be written."""

    line: int
    member: str
    fields: dict[str, Any]
    problem: str = ""
    is_half: bool = False


def read_rows(lines: Lines, *, is_csv: bool) -> Iterator[Row]:
    """The rows of a file, in order. InputError for a wrong header."""
    return _csv_rows(lines) if is_csv else _json_rows(lines)


def _csv_rows(lines: Lines) -> Iterator[Row]:
    records = lines.records()
    _, names = next(records, (1, list[str]()))
    if isinstance(names, Exception):
        raise InputError(f"the header cannot be read: {names}") from names
    unknown = [name for name in names if name not in ("member", *FIELDS)]
    if "member" not in names or unknown or len(set(names)) < len(names):
        expected = f"expected the columns member, {', '.join(FIELDS)}, each once at most"
        raise InputError(f"the header: {expected}, got {', '.join(map(repr, names)) or 'an empty line'}")
    for first, cells in records:
        if isinstance(cells, Exception):
            yield Row(first, "", {}, str(cells), is_half=isinstance(cells, HalfLineError))
        elif cells:
            yield _csv_row(first, names, cells)


def _csv_row(first: int, names: list[str], cells: list[str]) -> Row:
    if len(cells) != len(names):
        return Row(first, "", {}, f"expected {len(names)} cells, got {len(cells)}")
    fields: dict[str, Any] = {name: cell for name, cell in zip(names, cells, strict=True) if cell}
    member = str(fields.pop("member", ""))
    try:
        if "data" in fields:
            fields["data"] = json.loads(fields["data"])
    except (ValueError, RecursionError) as error:
        return Row(first, member, {}, f"data: expected JSON, {error}")
    return _row(first, member, fields)


def _json_rows(lines: Lines) -> Iterator[Row]:
    while True:
        try:
            text = next(lines).strip()
            fields = json.loads(text) if text else None
        except StopIteration:
            return
        except (ValueError, RecursionError) as error:
            yield Row(lines.number, "", {}, f"expected JSON: {error}")
            continue
        if fields is None:
            continue
        if not isinstance(fields, dict) or not isinstance(fields.get("member"), str):
            problem = 'expected an object such as {"member": "u1", "name": "Ada"}'
            yield Row(lines.number, "", {}, problem)
        else:
            yield _row(lines.number, str(fields.pop("member")), fields)


def _row(first: int, member: str, fields: dict[str, Any]) -> Row:
    if not member:
        return Row(first, "", {}, "member: is missing")
    if not fields:
        return Row(first, member, {}, f"expected a field to set, of {', '.join(FIELDS)}")
    return Row(first, member, fields)
