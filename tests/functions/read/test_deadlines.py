"""A request reads the clock once and has one deadline for all its reads; the rest of a batch is read after a wait."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from standings.aws.dynamodb.scores import Scores
from standings.aws.dynamodb.tables import UNPROCESSED_TIMEOUT_S, batch_get
from standings.domain.boards_toml import parse_boards
from standings.domain.errors import RequestError
from standings.read import board_list, member_ranks, score_statistics
from standings.read.reader import LAST_READ_S, Question, Reader, Request
from standings.runtime.clock import Clock
from standings.stores import Node, StoreUnavailableError
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


def reader(before: Callable[[], None], clock: Clock) -> Reader:
    return Reader(BOARDS, Store(before), clock)  # type: ignore[arg-type]


def question(reader: Reader) -> Question:
    return Request(reader).question("b", "points", "all")


def test_all_reads_of_a_request_share_one_deadline() -> None:
    time = Time(MIDNIGHT)
    throttled = Throttled(time, 2.0)

    with pytest.raises(StoreUnavailableError):
        score_statistics.distribution(question(reader(throttled, time.clock())), buckets=50)
    assert throttled.reads > 0
    assert time.monotonic() <= 5.0


def test_the_next_request_has_a_deadline_of_its_own() -> None:
    time = Time(MIDNIGHT)
    throttled = Throttled(time, 4.0)
    reads = reader(throttled, time.clock())

    for _ in range(2):
        with pytest.raises(RequestError, match="no member"):
            member_ranks.card(Request(reads), "b", "m", None)
    assert throttled.reads == 2


def test_a_request_whose_reads_are_slow_ends_before_its_function_does() -> None:
    time = Time(MIDNIGHT)

    with pytest.raises(StoreUnavailableError, match="took longer"):
        score_statistics.percentile(question(reader(lambda: time.sleep(6.0), time.clock())), p="100")
    assert time.monotonic() <= LAST_READ_S + 6.0


def test_all_windows_of_an_answer_are_those_of_one_moment() -> None:
    # The clock shows the last millisecond of a day once, then the next day.
    time, shown = Time(MIDNIGHT), iter([MIDNIGHT - 1])
    clock = Clock(lambda: next(shown, MIDNIGHT), time.monotonic, time.sleep, lambda: 0.5)
    (metric,) = board_list.definition(Request(reader(lambda: None, clock)), "b")["metrics"]

    periods = {window["window"]: window["period"]["end"] for window in metric["windows"] if window["period"]}
    assert periods["hour"] == periods["day"] == periods["last-7-days"] == "2026-11-22T00:00:00Z"


KEYS: list[Any] = [{"pk": {"S": str(number)}} for number in range(150)]


class PartByPart:
    """Returns the first few keys of each batch, without taking time."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self.read = self.batches = 0

    def batch_get_item(self, RequestItems: dict[str, Any]) -> Any:  # noqa: N803 - as in boto3
        self.batches += 1
        ((table, batch),) = RequestItems.items()
        done, left = batch["Keys"][: self._at_once], batch["Keys"][self._at_once :]
        self.read += len(done)
        return {"Responses": {table: done}, "UnprocessedKeys": {table: {**batch, "Keys": left}} if left else {}}


def test_the_rest_of_a_batch_is_read_after_growing_waits_and_nothing_twice_or_it_is_an_error() -> None:
    time, client = Time(0), PartByPart(at_once=40)
    assert batch_get(client, "T", KEYS, time.clock()) == KEYS  # type: ignore[arg-type]
    assert (client.read, client.batches) == (150, 5)
    assert time.slept == [0.01, 0.02, 0.04]
    # It does not finish in time.
    time, client = Time(0), PartByPart(at_once=1)
    with pytest.raises(StoreUnavailableError, match="did not return"):
        batch_get(client, "T", KEYS, time.clock())  # type: ignore[arg-type]
    assert 0 < sum(time.slept) < UNPROCESSED_TIMEOUT_S
    assert client.batches < 10
    # Nothing is read: an error at once.
    time, client = Time(0), PartByPart(at_once=0)
    with pytest.raises(StoreUnavailableError, match="did not return 2 of 2 items"):
        Scores(client, "Scores", "Receipts", time.clock()).images([("b", "m"), ("b", "n")])  # type: ignore[arg-type]
    assert (client.batches, time.slept) == (1, [])
