"""Reads events from the rows of a CSV file."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from standings.domain.boards_toml import METRIC_NAME
from standings.domain.events import RefusedEvent
from standings_cli.post.event_text import FIELDS, METRIC_RULE, EventText, event_text
from standings_cli.post.source import InputError, Lines

if TYPE_CHECKING:
    from standings_cli.post.rows import RowReader

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_TIME: Final = re.compile(r"[0-9]{1,14}", re.ASCII)
_MAX_DIGITS_OF_SECONDS: Final = 11


def csv_rows(lines: Lines, reader: "RowReader") -> Iterator[tuple[int, EventText | Exception]]:
    """Return each row's first line, and its event or what is wrong with it. InputError for a wrong header."""
    records = lines.records()
    _, columns = next(records, (1, list[str]()))
    if isinstance(columns, Exception):
        raise InputError(f"the header cannot be read: {columns}") from columns
    names = _header(columns, reader)
    for line, cells in records:
        try:
            if isinstance(cells, Exception):
                yield line, cells
            elif cells:
                yield line, _event(cells, names, reader)
        except RefusedEvent as error:
            yield line, error


def _header(columns: list[str], reader: "RowReader") -> list[str | None]:
    """Return the field or metric of each column; None for an ignored one."""
    got = f"got {', '.join(map(repr, columns))}" if columns else "the first line is empty"
    for name in (*reader.columns, *reader.ignored):
        if name not in columns:
            raise InputError(f"expected a column {name!r}, {got}")
    names = [None if column in reader.ignored else reader.columns.get(column, column) for column in columns]
    known = [*filter(None, names), *reader.metrics, *(["board"] if reader.board else [])]
    for name in known:
        if known.count(name) > 1:
            raise InputError(f"expected {name!r} once among columns and options, got it twice")
    for name in ("member", "board"):
        if name not in known:
            hint = ", or --board for all rows" if name == "board" else ""
            raise InputError(f"expected a column {name!r}, {got}: name it with --column {name}=COLUMN{hint}")
    if all(name in FIELDS for name in known):
        raise InputError("expected a metric's column, got none: METRIC=AMOUNT, such as points=1, adds one to every row")
    for column, metric in zip(columns, names, strict=True):
        if metric is not None and metric not in FIELDS and not METRIC_NAME.fullmatch(metric):
            raise InputError(
                f"column {column!r}: expected {METRIC_RULE}: "
                f"rename it with --column METRIC={column}, or skip it with --ignore {column}"
            )
    return names


def _event(cells: list[str], names: list[str | None], reader: "RowReader") -> EventText:
    if len(cells) != len(names):
        raise RefusedEvent("json", f"expected {len(names)} columns as in the header, got {len(cells)}")
    fields: dict[str, str] = {}
    amounts = dict(reader.metrics)
    for name, cell in zip(names, cells, strict=True):
        if name is None or not cell:
            continue
        if name in FIELDS:
            fields[name] = _instant(cell) if name == "at" else cell
        else:
            amounts[name] = cell
    return event_text(fields, amounts)


def _instant(cell: str) -> str:
    """Turn seconds since 1970, or milliseconds (12 digits and more), into RFC 3339; leave other text as it is."""
    if not _EPOCH_TIME.fullmatch(cell):
        return cell
    milliseconds = int(cell) * (1000 if len(cell) <= _MAX_DIGITS_OF_SECONDS else 1)
    at = _EPOCH + timedelta(milliseconds=milliseconds)
    return at.isoformat(timespec="milliseconds" if milliseconds % 1000 else "seconds").replace("+00:00", "Z")
