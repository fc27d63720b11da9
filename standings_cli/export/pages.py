"""Reads a whole list, page by page."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from standings_cli.stack.api import Api

PAGE_SIZE: Final = 1_000  # the most entries that the API returns at once


@dataclass
class WholeList:
    """The list at a path, read with cursors. `written` are the members that were returned before.

    `total` is the number of members at the last page. The list has `moved` if the pages show it: members came twice, or
    there are more or fewer than at the page before. Then a member that climbed past the place that was read is missing.
    """

    api: Api
    path: tuple[str, ...]
    arguments: dict[str, str | None]
    written: set[str] = field(default_factory=set)
    total: int | None = None
    moved: bool = False

    def pages(self, cursor: str | None = None) -> Iterator[tuple[list[dict[str, Any]], str | None, float]]:
        """Return each page's new entries, the cursor to read on from, and the share of the list that was read.

        A member that moves between two pages may come a second time: it is left out there. The cursor is None at the
        end. Raises ApiError and NoAnswerError.
        """
        while True:
            answer = self.api.read(*self.path, **self.arguments, limit=PAGE_SIZE, cursor=cursor)
            cursor = answer["next"]
            self.moved = self.moved or answer["total"] != (self.total or answer["total"])
            self.total = answer["total"]
            entries = list[dict[str, Any]]()
            for entry in answer["entries"]:
                if entry["member"] in self.written:
                    self.moved = True
                else:
                    self.written.add(entry["member"])
                    entries.append(entry)
            yield entries, cursor, len(self.written) / max(answer["total"], len(self.written), 1)
            if cursor is None:
                return
