"""Answers about boards: the list of boards, one board, and one member of a board."""

from typing import Any, Final

from standings.domain.boards.names import BOARD_NAME
from standings.domain.errors import bad_argument, check_range
from standings.domain.windows.calendar import DAY, HOUR, MINUTE
from standings.domain.windows.window import WEEKDAYS
from standings.read import answer_fields
from standings.read.cursors import decode_name, encode_name
from standings.read.member_card import member_card
from standings.read.reader import Reader, method_of

MAX_BOARDS: Final = 1_000
_SPANS: Final = (("day", DAY), ("hour", HOUR), ("minute", MINUTE))


class Directory:
    """Answers are dicts ready for JSON. A question without an answer raises RequestError."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def boards(self, *, prefix: str, limit: int, cursor: str | None) -> dict[str, Any]:
        """The boards whose names begin with a prefix, in order of their names."""
        check_range("limit", limit, 1, MAX_BOARDS)
        if prefix and not BOARD_NAME.fullmatch(prefix):
            raise bad_argument("prefix", f"no name of a board begins with {prefix[:80]!r}")
        after = None
        if cursor is not None:
            try:
                after = decode_name(cursor, prefix)
            except ValueError as error:
                raise bad_argument("cursor", "is altered, or of another list") from error
        names = self._reader.request().store.boards(prefix, after, limit + 1)
        following = encode_name(names[limit - 1], prefix) if len(names) > limit else None
        return {"boards": [{"board": name} for name in names[:limit]], "next": following}

    def board(self, board: str) -> dict[str, Any]:
        """A board's definition in `boards.toml`, with the current period of each window."""
        request = self._reader.request()
        family = request.family(board)
        timetable = family.timetable
        return {
            "board": board,
            "family": family.pattern,
            "timezone": timetable.timezone,
            "week_start": WEEKDAYS[timetable.week_start],
            "members": family.members,
            "late": _span(timetable.late),
            "keep": _span(timetable.keep),
            "shards": family.shards,
            "metrics": [
                {
                    "metric": metric.name,
                    "aggregate": metric.aggregate,
                    "precision": metric.precision,
                    "order": metric.order,
                    "ties": metric.ties,
                    "windows": [
                        {"window": window.name, "period": answer_fields.period(request.current(board, metric, window))}
                        for window in metric.windows
                    ],
                }
                for metric in family.metrics.values()
            ],
        }

    def member(self, board: str, member: str, *, ranks: bool, method: str | None) -> dict[str, Any]:
        """A member's card: see `member_card`."""
        return member_card(self._reader.request(), board, member, method_of(method) if ranks else None)


def _span(milliseconds: int) -> str:
    """A duration as `boards.toml` writes it, such as `7 days`."""
    unit, size = next((unit, size) for unit, size in _SPANS if milliseconds % size == 0)
    number = milliseconds // size
    return f"{number} {unit}{'' if number == 1 else 's'}"
