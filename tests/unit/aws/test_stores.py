"""Reads side by side."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from standings.aws.dynamodb import ranking_reads
from standings.aws.dynamodb.ranking_reads import QueryReads
from standings.aws.dynamodb.tables import MAX_KEYS
from standings.domain.boards import Ranking
from standings.stores import Partition, Span
from tests.support.aws.stack import OneThread
from tests.support.builders.points import family
from tests.support.dynamodb.tables import engine_with_tables
from tests.support.faults.faulty_client import Time


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


def test_nodes_of_several_batches_beside_spans_do_not_wait_on_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking_reads, "ThreadPoolExecutor", BusyThread)
    reader = QueryReads(engine_with_tables(shards=4), "Rankings", "Scores", Time(0).clock())
    metric = family("b").metrics["points"]
    ranking = Ranking("b", metric, metric.windows[0], 0)
    spans = [Span(Partition(ranking.key, shard), None, 10) for shard in (0, 1)]

    assert reader.spans(ranking, spans, [(60, digit) for digit in range(MAX_KEYS + 1)]) == ([[], []], {})
    assert reader.spans(ranking, spans, []) == ([[], []], {})
