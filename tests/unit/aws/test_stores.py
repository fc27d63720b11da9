"""Items in Scores and Rankings: what expires and when, the records of boards, and reads side by side."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from standings.aws.dynamodb import ranking_reads
from standings.aws.dynamodb.ranking_reads import QueryReads
from standings.aws.dynamodb.rankings import Rankings
from standings.aws.dynamodb.scores import BoardRecords, Scores
from standings.aws.dynamodb.tables import MAX_KEYS
from standings.domain.boards import BoardRecord, BucketCoverage, Job, Ranking, coverage_of
from standings.domain.members import Image, Move
from standings.domain.scoring import Place
from standings.stores import Addition, Partition, Rewrite, Span
from tests.support.aws.stack import OneThread
from tests.support.builders.points import NOW, family
from tests.support.dynamodb.tables import engine_with_tables
from tests.support.faults.faulty_client import Time


@pytest.fixture
def client() -> Any:
    return engine_with_tables(shards=4)


@pytest.fixture
def boards(client: Any) -> BoardRecords:
    return BoardRecords(client, "Scores", Time(NOW).clock())


@pytest.fixture
def reader(client: Any) -> QueryReads:
    return QueryReads(client, "Rankings", "Scores", Time(NOW).clock())


def image(version: int, *, abs_total: int = 3, **other: Any) -> Image:
    return Image("b", "m", version, NOW, abs_total, **{"hidden": False, "values": {"a1b": 3}, **other})


def test_a_removed_member_expires_unless_it_returns(client: Any) -> None:
    def expiry() -> int | None:
        (item,) = client.scan(TableName="Scores")["Items"]
        return int(item["e"]["N"]) if "e" in item else None

    scores = Scores(client, "Scores", "Receipts", Time(NOW).clock())
    scores.apply([], [Rewrite(image(7, values={}, removed=True), None)], NOW)
    assert expiry() == NOW // 1000 + 60 * 86_400
    (stranger,) = scores.apply([], [Addition("b", "m", {"a1b": 3}, (), (), (), NOW, 3, known=True)], NOW)
    assert stranger.found == image(7, values={}, removed=True)
    assert scores.apply([], [Addition("b", "m", {"a1b": 3}, (), (), (), NOW, 3, known=False)], NOW) == []
    assert expiry() is None
    assert scores.image(("b", "m")) == image(8, abs_total=6)


def test_a_record_replaces_only_the_version_that_was_read(boards: BoardRecords, reader: QueryReads) -> None:
    coverage = coverage_of(family("c"), NOW)
    buckets = {
        code: BucketCoverage(bucket.windows, 20_778, frozenset({7, 9})) for code, bucket in coverage.buckets.items()
    }
    job = Job("rebuild", "placing", NOW, coverage, 7, "m", 400)
    record = BoardRecord("b", 1, NOW, coverage, coverage.rankings)
    later = replace(
        record,
        version=2,
        coverage=replace(coverage, buckets=buckets),
        generation=1,
        written=(1, 2),
        latest=3,
        stale=(2,),
        job=job,
    )

    assert reader.record("b") is None
    assert boards.put(record, None)
    assert not boards.put(record, None)
    assert not boards.put(later, replace(record, version=2))
    assert boards.put(later, record)
    assert reader.record("b") == later
    assert boards.records(["b", "c"]) == {"b": later}


def test_entries_of_a_period_expire_after_it_can_no_longer_be_read(client: Any) -> None:
    metric = family("b").metrics["points"]
    everything, day = (Ranking("b", metric, window, metric.timetable.current(window, NOW)) for window in metric.windows)
    rankings = Rankings(client, "Rankings", Time(NOW).clock())

    def move(member: str, old: int | None, new: int | None, version: int = 1) -> None:
        before, after = (None if number is None else Place(number) for number in (old, new))
        assert rankings.commit(everything, [Move(everything, member, before, after, version, NOW)]) == []

    rankings.commit(day, [Move(day, "m", None, Place(5), 1, NOW)])
    move("stays", None, 5)
    move("left", None, 5)
    move("left", 5, None, 2)
    items = {item["pk"]["S"]: item for item in client.scan(TableName="Rankings")["Items"]}
    until = day.readable_until

    assert until is not None
    expiring = {key: int(item["e"]["N"]) for key, item in items.items() if "e" in item}
    assert {key for key in expiring if key.startswith(day.key)} == {key for key in items if key.startswith(day.key)}
    assert {expiry for key, expiry in expiring.items() if key.startswith(day.key)} == {until // 1000 + 3 * 86_400}
    assert [key for key in expiring if key.startswith(everything.key)] == [f"{everything.key}#left"]
    assert expiring[f"{everything.key}#left"] == NOW // 1000 + 60 * 86_400


class BusyThread(OneThread):
    """In place of a pool with one thread. A call must not give another one."""

    def __init__(self, **_: Any) -> None:
        self._busy = False

    def submit(self, call: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        assert not self._busy, "a call on the pool waits for another one"
        self._busy = True
        done = super().submit(call, *args, **named)
        self._busy = False
        return done


def test_nodes_of_several_batches_beside_spans_do_not_wait_on_the_pool(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking_reads, "ThreadPoolExecutor", BusyThread)
    reader = QueryReads(client, "Rankings", "Scores", Time(0).clock())
    metric = family("b").metrics["points"]
    ranking = Ranking("b", metric, metric.windows[0], 0)
    spans = [Span(Partition(ranking.key, shard), None, 10) for shard in (0, 1)]

    assert reader.spans(ranking, spans, [(60, digit) for digit in range(MAX_KEYS + 1)]) == ([[], []], {})
    assert reader.spans(ranking, spans, []) == ([[], []], {})
