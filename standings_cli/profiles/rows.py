"""Reads profiles from the rows of a file, CSV or JSON lines."""

import csv
import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from standings_cli.post.source import InputError, Lines

FIELDS: Final = ("name", "picture", "country", "data")
"""The fields of a profile. An empty cell of a CSV file is absent; `null` in JSON removes the field."""


class Row(NamedTuple):
    """A row: its first line, its member and fields, or the problem with it."""

    line: int
    member: str
    fields: dict[str, Any]
    problem: str = ""


def read_rows(lines: Lines, *, is_csv: bool) -> Iterator[Row]:
    """The rows of a file, in order. InputError for a wrong header."""
    return _csv_rows(lines) if is_csv else _json_rows(lines)


def _csv_rows(lines: Lines) -> Iterator[Row]:
    rows = csv.reader(lines, strict=True)
    try:
        names = next(rows, [])
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"the header cannot be read: {error}") from error
    unknown = [name for name in names if name not in ("member", *FIELDS)]
    if "member" not in names or unknown or len(set(names)) < len(names):
        expected = f"expected the columns member, {', '.join(FIELDS)}, each once at most"
        raise InputError(f"the header: {expected}, got {', '.join(map(repr, names)) or 'an empty line'}")
    while True:
        first = lines.number + 1
        try:
            cells = next(rows)
            if cells:
                yield _csv_row(first, names, cells)
        except StopIteration:
            return
        except (csv.Error, UnicodeDecodeError) as error:
            yield Row(first, "", {}, str(error))


def _csv_row(first: int, names: list[str], cells: list[str]) -> Row:
    if len(cells) != len(names):
        return Row(first, "", {}, f"expected {len(names)} cells, got {len(cells)}")
    fields: dict[str, Any] = {name: cell for name, cell in zip(names, cells, strict=True) if cell}
    member = str(fields.pop("member", ""))
    try:
        if "data" in fields:
            fields["data"] = json.loads(fields["data"])
    except ValueError as error:
        return Row(first, member, {}, f"data: expected JSON, {error}")
    return _row(first, member, fields)


def _json_rows(lines: Lines) -> Iterator[Row]:
    while True:
        try:
            text = next(lines).strip()
            fields = json.loads(text) if text else None
        except StopIteration:
            return
        except ValueError as error:
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
