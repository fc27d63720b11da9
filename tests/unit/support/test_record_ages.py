"""The mapping of a stream gives records up by their age first, and by the number of tries only then."""

from typing import Any

import pytest

from tests.support.awslambda.failure_records import OUT_OF_TRIES, TOO_OLD
from tests.support.awslambda.stream_poller import StreamPoller
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.support.dynamodb.things import key


def versions(records: list[Any]) -> list[int]:
    return [int(record["dynamodb"]["NewImage"]["v"]["N"]) for record in records]


class Aging:
    """A stream with two records of one instant and a third one an hour later, and a mapping of twelve hours."""

    def __init__(self, max_retries: int) -> None:
        self.now = 0.0
        self.given_up: list[tuple[list[int], str]] = []
        self.attempts: list[list[int]] = []
        self._engine = Engine(clock=lambda: self.now)
        create_tables(self._engine)
        for at in (0.0, 0.0, 3600.0):
            self.now = at
            self._engine.put_item(TableName="Scores", Item={**key("b#0", "m"), "v": {"N": str(len(self._shard))}})
        self.poller = StreamPoller(
            self._down,
            self._engine.stream("Scores"),
            max_retries=max_retries,
            max_record_age=12 * 3600,
            clock=lambda: self.now,
            on_failure=lambda records, why: self.given_up.append((versions(records), why)),
        )

    @property
    def _shard(self) -> Any:
        return self._engine.stream("Scores")[0]

    def _down(self, event: Any, _: Any) -> Any:
        self.attempts.append(versions(event["Records"]))
        self.now += 60
        return {"batchItemFailures": [{"itemIdentifier": event["Records"][0]["dynamodb"]["SequenceNumber"]}]}


def test_a_batch_is_tried_until_its_records_are_too_old() -> None:
    aging = Aging(max_retries=-1)
    aging.poller.drain()

    assert len(aging.attempts) > 100
    assert aging.given_up == [([0, 1], TOO_OLD), ([2], TOO_OLD)]
    assert aging.now == pytest.approx(13 * 3600, abs=60)


def test_the_age_is_looked_at_before_the_tries() -> None:
    aging = Aging(max_retries=0)
    aging.now = 12 * 3600 - 30
    aging.poller.drain()

    assert aging.attempts == [[0, 1, 2], [2]]
    assert aging.given_up == [([0, 1], TOO_OLD), ([2], OUT_OF_TRIES)]


def test_the_stream_drops_what_is_older_than_a_day() -> None:
    aging = Aging(max_retries=-1)
    aging.now = 24.5 * 3600
    aging.poller.drain()

    assert (aging.poller.lost, aging.attempts, aging.given_up) == (2, [], [([2], TOO_OLD)])
