"""Reads rows of a text as `standings post` does."""

import io
import json
from collections.abc import Iterable
from typing import Any

from standings.domain.boards.boards_toml import parse_boards
from standings_cli.post.rows import Row, RowReader

NOW = 1_795_256_100_000
AT_NOW = "2026-11-21T10:15:00.000Z"
HEADER = "id,board,member,at,points\n"
BOARDS = parse_boards('[boards."*"]\nmetrics.points = { aggregate = "sum", precision = 2, windows = ["all"] }')


def rows(text: str | bytes, form: str = "csv", source: str | None = "f", **options: Any) -> list[Row]:
    content = text if isinstance(text, bytes) else text.encode()
    return list(RowReader(form, source, **options).read(io.BytesIO(content), lambda: NOW))


def bodies(parsed: Iterable[Row]) -> list[str]:
    assert all(row.message is not None for row in parsed), [row.problem for row in parsed]
    return [row.message.body for row in parsed if row.message is not None]


def ids(parsed: Iterable[Row]) -> list[str]:
    return [json.loads(body)["id"] for body in bodies(parsed)]


def wrong(*cells: str, header: str = HEADER) -> str:
    (row,) = rows(header + ",".join(cells) + "\n")
    assert row.message is None
    assert row.line == 2
    assert row.mark.wrong == 1
    return row.problem
