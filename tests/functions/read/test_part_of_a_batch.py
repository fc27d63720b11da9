"""DynamoDB may return only part of a batch. The rest is read after a wait, and nothing is read twice."""

from collections import Counter
from typing import Any

import pytest

from standings.aws.dynamodb.calls import UNPROCESSED_TIMEOUT_S, batch_get
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.ports.errors import StoreUnavailableError
from tests.support.faults.faulty_client import Time


class Throttled:
    """Returns the first few keys of each batch, without taking time."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self.read: Counter[str] = Counter()
        self.batches = 0

    def batch_get_item(self, RequestItems: dict[str, Any]) -> Any:  # noqa: N803
        self.batches += 1
        ((table, batch),) = RequestItems.items()
        done, left = batch["Keys"][: self._at_once], batch["Keys"][self._at_once :]
        self.read.update(key["pk"]["S"] for key in done)
        return {"Responses": {table: done}, "UnprocessedKeys": {table: {**batch, "Keys": left}} if left else {}}


KEYS: list[Any] = [{"pk": {"S": str(number)}} for number in range(150)]


def test_the_rest_of_a_batch_is_read_after_growing_waits() -> None:
    time = Time(0)
    client: Any = Throttled(at_once=40)

    assert batch_get(client, "T", KEYS, time.clock()) == KEYS
    assert set(client.read.values()) == {1}
    assert time.slept == [0.01, 0.02, 0.04]


def test_a_batch_that_does_not_finish_in_time_is_an_error() -> None:
    time = Time(0)
    client: Any = Throttled(at_once=1)

    with pytest.raises(StoreUnavailableError, match="did not return"):
        batch_get(client, "T", KEYS, time.clock())
    assert 0 < sum(time.slept) < UNPROCESSED_TIMEOUT_S
    assert client.batches < 10


def test_a_batch_of_which_nothing_is_read_is_an_error_at_once() -> None:
    time = Time(0)
    client: Any = Throttled(at_once=0)

    with pytest.raises(StoreUnavailableError, match="did not return 2 of 2 items"):
        DynamoScores(client, "Scores", "Receipts", time.clock()).images([("b", "m"), ("b", "n")])
    assert (client.batches, time.slept) == (1, [])
