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
from standings.read.dispatch import Answers, Tables
from standings.read.session import LAST_READ_S, RankingReader
from standings.runtime.clock import Clock
from standings.stores import Node, Partition, StoreUnavailableError
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

    def records(self, _: Any) -> dict[str, Any]:
        self.before()
        return {}

    def nodes(self, wanted: Any) -> Any:
        self.before()
        return {node: Node(WIDE, 1) for node in wanted}

    def image(self, *_: Any) -> None:
        self.before()

    def partitions(self, ranking: Any, shards: int) -> list[Partition]:
        return [Partition(ranking.key, shard) for shard in range(shards)]


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


def answers(before: Callable[[], None], clock: Clock) -> Answers:
    tables: Any = Tables(None, clock, rankings="Rankings", scores="Scores", profiles="Profiles")
    tables.rankings = tables.records = tables.scores = Store(before)
    return Answers(BOARDS, tables)


def reader(answers: Answers) -> RankingReader:
    return answers.session().reader("b", "points", "all")


def test_all_reads_of_a_request_share_one_deadline() -> None:
    time = Time(MIDNIGHT)
    throttled = Throttled(time, 2.0)

    with pytest.raises(StoreUnavailableError):
        score_statistics.distribution(reader(answers(throttled, time.clock())), buckets=50)
    assert throttled.reads > 0
    assert time.monotonic() <= 5.0


def test_the_next_request_has_a_deadline_of_its_own() -> None:
    time = Time(MIDNIGHT)
    throttled = Throttled(time, 4.0)
    reads = answers(throttled, time.clock())

    for _ in range(2):
        with pytest.raises(RequestError, match="no member"):
            member_ranks.card(reads.session(), "b", "m", None)
    assert throttled.reads == 2


def test_a_request_whose_reads_are_slow_ends_before_its_function_does() -> None:
    time = Time(MIDNIGHT)

    with pytest.raises(StoreUnavailableError, match="took longer"):
        score_statistics.percentile(reader(answers(lambda: time.sleep(6.0), time.clock())), p="100")
    assert time.monotonic() <= LAST_READ_S + 6.0


def test_all_windows_of_an_answer_are_those_of_one_moment() -> None:
    # The clock shows the last millisecond of a day once, then the next day.
    time, shown = Time(MIDNIGHT), iter([MIDNIGHT - 1])
    clock = Clock(lambda: next(shown, MIDNIGHT), time.monotonic, time.sleep, lambda: 0.5)
    (metric,) = board_list.definition(answers(lambda: None, clock).session(), "b")["metrics"]

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


def test_the_rest_of_a_batch_is_read_after_growing_waits_and_nothing_twice() -> None:
    time = Time(0)
    client: Any = PartByPart(at_once=40)

    assert batch_get(client, "T", KEYS, time.clock()) == KEYS
    assert (client.read, client.batches) == (150, 5)
    assert time.slept == [0.01, 0.02, 0.04]


def test_a_batch_that_does_not_finish_in_time_is_an_error() -> None:
    time = Time(0)
    client: Any = PartByPart(at_once=1)

    with pytest.raises(StoreUnavailableError, match="did not return"):
        batch_get(client, "T", KEYS, time.clock())
    assert 0 < sum(time.slept) < UNPROCESSED_TIMEOUT_S
    assert client.batches < 10


def test_a_batch_of_which_nothing_is_read_is_an_error_at_once() -> None:
    time = Time(0)
    client: Any = PartByPart(at_once=0)

    with pytest.raises(StoreUnavailableError, match="did not return 2 of 2 items"):
        Scores(client, "Scores", "Receipts", time.clock()).images([("b", "m"), ("b", "n")])
    assert (client.batches, time.slept) == (1, [])
