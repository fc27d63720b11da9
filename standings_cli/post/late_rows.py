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
from standings.domain.late_events import Late, advice, late_windows
from standings.domain.windows import HOUR

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
    by_window: Counter[str] = field(default_factory=Counter)  # Those whose periods can still be read

    def warning(self, messages: Iterable[OutgoingMessage]) -> str | None:
        """What to say of the first `MOST` messages; None if none of them is late.

        `193 of 200 rows are older than `late` and count in `all` alone; --history counts them in their month (193), …`.
        """
        for message in islice(messages, MOST):
            self.rows += 1
            self._see(message)
        if not self.late:
            return None
        where = "do not count in all their periods" if self.rolls else "count in `all` alone"
        first = " of the first" if self.rows == MOST else " of"
        counts = (f"{window} ({count:,})" for window, count in self.by_window.items())
        rows = f"{self.late:,}{first} {self.rows:,} rows are older than `late` and {where}"
        return f"{rows}{advice(counts, '--history counts them in their')}"

    def warning_of_one(self, message: OutgoingMessage) -> str | None:
        """What to say of one event; None if it is not late."""
        late = self._late(message)
        return None if late is None else late.sentence("--history")

    def _see(self, message: OutgoingMessage) -> None:
        late = self._late(message)
        if late is not None and late.windows:
            self.late += 1
            self.rolls |= late.rolls
            self.by_window.update(late.readable)

    def _late(self, message: OutgoingMessage) -> Late | None:
        """The windows for which an event comes too late; None if its time is no time, or within the last hour."""
        event: Mapping[str, Any] = orjson.loads(message.body)
        try:
            at = read_at(event["at"], self.now)
        except (KeyError, RefusedEvent):
            return None
        if at > self.now - HOUR:
            return None  # At most its hour has closed, on a board without `late`.
        parts = (
            (board, part.get("metrics", {}), part.get("set") is True)
            for part in event.get("updates", [event])
            for board in (part["board"] if isinstance(part.get("board"), list) else [part.get("board")])
        )
        return late_windows(self.boards_of, parts, at, self.now)


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
    fields = ("name", "starts", "ends")
    seasons = (", ".join(f"{each} = {_text(one[each])}" for each in fields) for one in answer.get("seasons", ()))
    lines.append(f"seasons = [{', '.join(f'{{ {one} }}' for one in seasons)}]")
    for metric in answer["metrics"]:
        windows = [each["window"] for each in metric["windows"]]
        if "with" not in metric:
            aggregate, named = _text(metric["aggregate"]), ", ".join(map(_text, windows))
            lines.append(f"metrics.{metric['metric']} = {{ aggregate = {aggregate}, windows = [{named}] }}")
    return parse_boards("\n".join(lines) + "\n")


def _text(value: str) -> str:
    return orjson.dumps(value).decode()
