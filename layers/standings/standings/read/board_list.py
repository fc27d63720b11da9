"""Answers about boards, and about one member in everything that a board counts."""

from typing import Any, Final

from standings.domain.boards.definitions import Metric
from standings.domain.boards.names import BOARD_NAME, check_member
from standings.domain.boards.ranking import Ranking
from standings.domain.errors import bad_argument, no_such_member
from standings.domain.windows.calendar import DAY, HOUR, MINUTE
from standings.domain.windows.window import WEEKDAYS, Window
from standings.read import json_values
from standings.read.cursors import decode_name, encode_name
from standings.read.member_card import score_in_window, total_score
from standings.read.member_ranks import Ranks, read_ranks
from standings.read.rank_numbering import Method, method_of
from standings.read.reader import Reader, Request

MAX_BOARDS: Final = 1_000
_SPANS: Final = (("day", DAY), ("hour", HOUR), ("minute", MINUTE))


class Directory:
    """Answers as `dict`s that are ready for JSON; `RequestError` for a question that has none."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def boards(self, *, prefix: str, limit: int, cursor: str | None) -> dict[str, Any]:
        """The boards that there are, by name."""
        if not 1 <= limit <= MAX_BOARDS:
            raise bad_argument("limit", f"must be from 1 to {MAX_BOARDS}, is {limit}")
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
        """What `boards.toml` says of a board, and the current period of each window."""
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
                        {"window": window.name, "period": json_values.period(_current(request, board, metric, window))}
                        for window in metric.windows
                    ],
                }
                for metric in family.metrics.values()
            ],
        }

    def member(self, board: str, member: str, *, ranks: bool, method: str | None) -> dict[str, Any]:
        """A member's scores of every metric in every window's current period, hidden or not; its ranks if asked for."""
        request = self._reader.request()
        family = request.family(board)
        numbering = method_of(method)
        check_member("id", member)
        image = request.store.image(board, member)
        if image is None or image.removed:
            raise no_such_member(board, member)
        current = {
            (metric.name, window.name): _current(request, board, metric, window)
            for metric in family.metrics.values()
            for window in metric.windows
        }
        found = _ranks(request, list(current.values()), member, numbering) if ranks else None
        return {
            "board": board,
            "member": member,
            "hidden": image.hidden,
            "metrics": [
                {
                    "metric": metric.name,
                    "score": total_score(image, metric),
                    "windows": [
                        score_in_window(image, current[metric.name, window.name], member, found)
                        for window in metric.windows
                    ],
                }
                for metric in family.metrics.values()
            ],
        }


def _current(request: Request, board: str, metric: Metric, window: Window) -> Ranking:
    return Ranking(board, metric, window, request.current(metric, window))


def _ranks(request: Request, rankings: list[Ranking], member: str, method: Method) -> dict[Ranking, Ranks]:
    built = {ranking: there for ranking in rankings if (there := request.built(ranking)) is not None}
    found = read_ranks(request, [(there, member) for there in built.values()], method) if built else {}
    return {ranking: found[there] for ranking, there in built.items()}


def _span(milliseconds: int) -> str:
    """A span as `boards.toml` has it."""
    unit, size = next((unit, size) for unit, size in _SPANS if milliseconds % size == 0)
    number = milliseconds // size
    return f"{number} {unit}{'' if number == 1 else 's'}"
