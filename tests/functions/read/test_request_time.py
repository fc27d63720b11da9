"""A request reads the clock once and has one deadline for all its reads."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.errors import RequestError
from standings.ports.errors import StoreUnavailableError
from standings.ports.rankings import Node
from standings.read import board_list, member_ranks, score_statistics
from standings.read.reader import LAST_READ_S, Reader, Request
from standings.runtime.retry import Clock
from tests.support.faults.faulty_client import Time

MIDNIGHT = int(datetime(2026, 11, 22, tzinfo=UTC).timestamp() * 1000)
BOARDS = parse_boards(
    '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "hour", "day", "last-7-days"] }'
)
WIDE = dict.fromkeys(range(128), 1)


@dataclass
class Store:
    """A store in which every node has members in all children. It calls `before` before every read."""

    before: Callable[[], None]

    def for_request(self) -> "Store":
        return self

    def record(self, _: str) -> None:
        self.before()

    def nodes(self, wanted: Any) -> Any:
        self.before()
        return {node: Node(WIDE, 1) for node in wanted}

    def image(self, *_: Any) -> None:
        self.before()


class Throttled:
    """Throttles each read for some seconds from its first try."""

    def __init__(self, time: Time, seconds: float) -> None:
        self._time = time
        self._seconds = seconds
        self._until: float | None = None
        self.reads = 0

    def __call__(self) -> None:
        if self._until is None:
            self._until = self._time.monotonic() + self._seconds
        if self._time.monotonic() < self._until:
            raise StoreUnavailableError("throttled")
        self._until = None
        self.reads += 1


def test_all_reads_of_a_request_share_one_deadline() -> None:
    time = Time(MIDNIGHT)
    throttled = Throttled(time, 2.0)
    reader = Reader(BOARDS, Store(throttled), time.clock())  # type: ignore[arg-type]

    with pytest.raises(StoreUnavailableError):
        score_statistics.distribution(Request(reader).question("b", "points", "all"), buckets=50)

    assert throttled.reads > 0
    assert time.monotonic() <= 5.0


def test_the_next_request_has_a_deadline_of_its_own() -> None:
    time = Time(MIDNIGHT)
    throttled = Throttled(time, 4.0)
    reader = Reader(BOARDS, Store(throttled), time.clock())  # type: ignore[arg-type]

    for _ in range(2):
        with pytest.raises(RequestError, match="no member"):
            member_ranks.card(Request(reader), "b", "m", None)
    assert throttled.reads == 2


def test_a_request_whose_reads_are_slow_ends_before_its_function_does() -> None:
    time = Time(MIDNIGHT)
    reader = Reader(BOARDS, Store(lambda: time.sleep(6.0)), time.clock())  # type: ignore[arg-type]

    with pytest.raises(StoreUnavailableError, match="took longer"):
        score_statistics.percentile(Request(reader).question("b", "points", "all"), p="100")

    assert time.monotonic() <= LAST_READ_S + 6.0


class Crossing:
    """A wall clock that shows the last millisecond of a day once, then the next day."""

    def __init__(self) -> None:
        self._read = 0

    def __call__(self) -> int:
        self._read += 1
        return MIDNIGHT - 1 if self._read == 1 else MIDNIGHT


def crossing() -> Reader:
    time = Time(MIDNIGHT)
    clock = Clock(Crossing(), time.monotonic, time.sleep, lambda: 0.5)
    return Reader(BOARDS, Store(lambda: None), clock)  # type: ignore[arg-type]


def test_all_windows_of_an_answer_are_those_of_one_moment() -> None:
    (metric,) = board_list.definition(Request(crossing()), "b")["metrics"]

    periods = {window["window"]: window["period"]["end"] for window in metric["windows"] if window["period"]}
    assert periods["hour"] == periods["day"] == periods["last-7-days"] == "2026-11-22T00:00:00Z"
