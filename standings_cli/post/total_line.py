"""Finds the total with which a spreadsheet ends: `Summe;;1977,4` would count as a member."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import isclose
from typing import TYPE_CHECKING, Any, Final

import orjson

from standings.aws.sqs import AT_FILLED_IN

if TYPE_CHECKING:
    from standings_cli.post.post_file import Row

_LEAST: Final = 2  # Rows before it that have an `at`
_LEAST_OF_SUM: Final = 4  # Rows before it that it sums: of fewer, chance makes sums


@dataclass
class TotalLine:
    """Watches the rows of a file: `TotalLine().watched(rows)`, then `warning()`, once all were read.

    The last row is taken for a total if it alone has no `at`, or if it has the sum of all rows before it, and a member
    who has no other row.
    """

    _before: int = 0
    _sums: Counter[str] = field(default_factory=Counter)  # Of the rows before the last
    _members: set[str] = field(default_factory=set)
    _all_dated: bool = True
    _last: "tuple[Row, dict[str, Any]] | None" = None

    def watched(self, rows: Iterable["Row"]) -> Iterator["Row"]:
        """Yield the rows that are events, and remember what they hold."""
        for row in rows:
            if self._last is not None:
                last, event = self._last
                self._before += 1
                self._members |= last.members
                self._all_dated = self._all_dated and not _is_undated(last)
                for name, amount in event.get("metrics", {}).items():
                    self._sums[name] += amount
            self._last = row, {} if row.message is None else orjson.loads(row.message.body)
            yield row

    def warning(self) -> str | None:
        """What to say if the last row looks like a total, after the name of the file: `270: the last row (Summe) …`."""
        if self._last is None or self._before < _LEAST:
            return None
        row, event = self._last
        amounts = event.get("metrics", {}).items()
        is_long = self._before >= _LEAST_OF_SUM
        summed = [name for name, amount in amounts if is_long and amount and isclose(amount, self._sums[name])]
        if self._all_dated and _is_undated(row):
            why = "it has no `at`, though all rows before it have one"
        elif summed and not row.members & self._members:
            why = f"it has the sum of all rows before it as {summed[0]}"
        else:
            return None
        member = ", ".join(sorted(row.members))
        return f"{row.line}: the last row ({member}) looks like a total: {why}. If it is one, delete the line"


def _is_undated(row: "Row") -> bool:
    return row.message is not None and AT_FILLED_IN in row.message.attributes
