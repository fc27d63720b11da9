"""A request reads the clock once and has one deadline for all its reads; the rest of a batch is read after a wait."""

from datetime import UTC, datetime
from typing import Any

import pytest

from standings.aws.dynamodb.scores import Scores
from standings.aws.dynamodb.tables import UNPROCESSED_TIMEOUT_S, batch_get
from standings.read.session import LAST_READ_S
from standings.stores import StoreUnavailableError
from tests.support.aws.stack import ManualClock, Stack, running
from tests.support.builders.maintenance import throttle
from tests.support.builders.querying import ALL, BOARDS, MEMBER, post
from tests.support.faults.faulty_client import Time

MIDNIGHT = int(datetime(2026, 11, 22, tzinfo=UTC).timestamp() * 1000)


@pytest.fixture(autouse=True)
def _even_chances(monkeypatch: pytest.MonkeyPatch) -> None:
    """By chance, a read is tried again sooner or later."""
    monkeypatch.setattr("random.random", lambda: 0.5)


class Throttled:
    """Throttles each read for some seconds from its first try."""

    def __init__(self, stack: Stack, seconds: float) -> None:
        self._now, self._seconds = stack.clock.monotonic, seconds
        self._until: float | None = None
        self.reads = 0
        stack.dynamodb.before.append(self)

    def __call__(self, *_: Any) -> None:
        if self._until is None:
            self._until = self._now() + self._seconds
        if self._now() < self._until:
            throttle()
        self._until = None
        self.reads += 1


def test_all_reads_of_a_request_share_one_deadline(stack: Stack) -> None:
    post(stack, {f"m{number}": number * 2**30 for number in range(100)})
    throttled, began = Throttled(stack, 2.0), stack.clock.monotonic()

    assert stack.get(f"{ALL}/distribution", buckets=50)[1]["type"] == "urn:standings:unavailable"
    assert throttled.reads > 0
    assert stack.clock.monotonic() - began <= 5.0


def test_the_next_request_has_a_deadline_of_its_own(stack: Stack) -> None:
    throttled = Throttled(stack, 4.0)

    assert [stack.get(MEMBER, id="m")[0] for _ in range(2)] == [404, 404]
    assert throttled.reads == 2


def test_a_request_whose_reads_are_slow_ends_before_its_function_does(stack: Stack) -> None:
    post(stack, {f"m{number}": number * 2**30 for number in range(100)})
    stack.dynamodb.before.append(lambda *_: stack.clock.sleep(6.0))
    began = stack.clock.monotonic()

    assert stack.get(f"{ALL}/percentile", p=100)[1]["type"] == "urn:standings:unavailable"
    assert stack.clock.monotonic() - began <= LAST_READ_S + 6.0


class Turning(ManualClock):
    """Shows the last millisecond of a day once, then the next day."""

    def __call__(self) -> int:
        self.milliseconds, shown = MIDNIGHT, self.milliseconds
        return shown


def test_all_windows_of_an_answer_are_those_of_one_moment(engine: Any) -> None:
    clock = Turning(MIDNIGHT)
    with running(engine, clock, BOARDS) as stack:
        clock.milliseconds = MIDNIGHT - 1
        (metric,) = stack.get("/boards/b")[1]["metrics"]

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
