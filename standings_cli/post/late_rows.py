"""Counts the rows of a file that are older than `late`, before any is sent: they would not count in their periods."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import orjson
from botocore.exceptions import BotoCoreError, ClientError

from standings.aws.sqs import OutgoingMessage
from standings.client.errors import ApiError, NoAnswerError, StackError
from standings.domain.boards import Boards
from standings.domain.boards_toml import parse_boards
from standings.domain.events import RefusedEvent, read_at
from standings.domain.windows import HOUR, Unit

if TYPE_CHECKING:
    from standings_cli.stack.connection import Connection

MOST: Final = 100_000
"""The most rows that are looked at before the first one is sent."""


@dataclass
class LateRows:
    """The rows that came too late: `LateRows(boards_of, now).warning(messages)`.

    `boards_of` gives the definition of a board; None if nobody knows it. `now` is in milliseconds.
    """

    boards_of: Callable[[str], Boards | None]
    now: int
    rows: int = 0
    late: int = 0
    rolls: bool = False  # Some of them count in rolling windows
    by_window: Counter[str] = field(default_factory=Counter)

    def warning(self, messages: Iterable[OutgoingMessage]) -> str | None:
        """What to say of the first `MOST` messages; None if none of them is late.

        `193 of 200 rows are older than `late` and count in `all` alone; --history counts them in their month (193)`.
        """
        for message in islice(messages, MOST):
            self.rows += 1
            self._see(message)
        if not self.late:
            return None
        counts = ", ".join(f"{window} ({count:,})" for window, count in self.by_window.items())
        where = "do not count in all their periods" if self.rolls else "count in `all` alone"
        first = " of the first" if self.rows == MOST else " of"
        rows = f"{self.late:,}{first} {self.rows:,} rows are older than `late` and {where}"
        return f"{rows}; --history counts them in their {counts}, as far as these can be read"

    def warning_of_one(self, message: OutgoingMessage) -> str | None:
        """What to say of one event; None if it is not late."""
        self._see(message)
        if not self.late:
            return None
        where = "does not count in all its periods" if self.rolls else "counts in `all` alone"
        windows = ", ".join(self.by_window)
        return f"it is older than `late` and {where}; --history counts it in its {windows}, as far as these can be read"

    def _see(self, message: OutgoingMessage) -> None:
        event: Mapping[str, Any] = orjson.loads(message.body)
        try:
            at = read_at(event["at"], self.now)
        except (KeyError, RefusedEvent):
            return
        if at > self.now - HOUR:
            return  # At most its hour has closed, on a board without `late`.
        windows, rolls = dict[str, None](), False
        for part in event.get("updates", [event]):
            board = part.get("board")
            for name in board if isinstance(board, list) else [board]:
                closed, takes = self._closed(name, part.get("metrics", {}), at, sets=part.get("set") is True)
                windows |= dict.fromkeys(closed)
                rolls |= takes
        if windows:
            self.late += 1
            self.rolls |= rolls
            self.by_window.update([*windows])

    def _closed(self, board: str, metrics: Iterable[str], at: int, *, sets: bool) -> tuple[list[str], bool]:
        """The windows of a board in whose periods an event no longer counts; and whether rolling ones take it.

        A best that it sets counts in none of a rolling window whose day has closed.
        """
        boards = self.boards_of(board)
        family = None if boards is None else boards.family(board)
        closed, rolls = list[str](), False
        for name in metrics if family is not None else ():
            metric = family.metrics.get(name) if family is not None else None
            for window in () if metric is None else metric.windows:
                unit: Unit | None = window.unit
                if metric is None or unit is None or metric.timetable.bucket_for(unit, at, self.now) is not None:
                    continue
                if window.rolling and not (sets and metric.is_best):
                    rolls |= metric.late_bucket(unit, at, self.now) is not None
                else:
                    closed.append(window.name)
        return closed, rolls


def definitions(connection: "Connection", boards: Boards | None) -> Callable[[str], Boards | None]:
    """Find the definition of a board: in a file's boards, else by the API. Nobody knows it if neither has it.

    If the API does not answer once, it is not asked again. It is tried once: nobody has to know.
    """
    found: dict[str, Boards | None] = {}
    is_asked = boards is None and connection.knows_api

    def find(board: str) -> Boards | None:
        nonlocal is_asked
        if boards is not None:
            return boards
        if board not in found:
            found[board] = None
            try:
                api = replace(connection.api, attempts=1) if is_asked else None
                found[board] = None if api is None else boards_of_answer(api.read("boards", board))
            except (ApiError, NoAnswerError, StackError, BotoCoreError, ClientError) as error:
                is_asked = isinstance(error, ApiError)  # Of other boards it may answer
        return found[board]

    return find


def boards_of_answer(answer: Mapping[str, Any]) -> Boards:
    """The definition in an answer to `GET /boards/<board>`, as far as it says when an event is late."""
    lines = [f"[boards.{_text(answer['board'])}]"]
    lines += [f"{name} = {_text(answer[name])}" for name in ("timezone", "week_start", "late", "keep")]
    for metric in answer["metrics"]:
        windows = [each["window"] for each in metric["windows"] if each["window"] != "season"]
        if "with" not in metric:
            aggregate, named = _text(metric["aggregate"]), ", ".join(map(_text, windows))
            lines.append(f"metrics.{metric['metric']} = {{ aggregate = {aggregate}, windows = [{named}] }}")
    return parse_boards("\n".join(lines) + "\n")


def _text(value: str) -> str:
    return orjson.dumps(value).decode()
