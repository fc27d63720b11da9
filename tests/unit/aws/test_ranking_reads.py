"""Parallel reads: a call on the pool of threads never waits for another one, which could need its thread."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any

import pytest

from standings.aws.dynamodb import ranking_reads
from standings.aws.dynamodb.tables import MAX_KEYS
from standings.domain.boards import Ranking
from standings.domain.boards_toml import parse_boards
from standings.stores import Partition, Span
from tests.support.faults.faulty_client import Time

BOARDS = parse_boards('[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }')


class OneThread(Executor):
    """In place of a pool with one thread: each call runs when it is given. A call must not give another one."""

    def __init__(self, **_: Any) -> None:
        self._busy = False

    def submit(self, call: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        assert not self._busy, "a call on the pool waits for another one"
        self._busy = True
        done: Future[Any] = Future()
        done.set_result(call(*args, **named))
        self._busy = False
        return done

    def map(self, call: Callable[..., Any], *many: Any, **_: Any) -> Iterator[Any]:  # type: ignore[override]
        return (self.submit(call, *each).result() for each in zip(*many, strict=True))


class Empty:
    """Tables without items."""

    def query(self, **_: Any) -> Any:
        return {"Items": [], "Count": 0}

    def batch_get_item(self, RequestItems: dict[str, Any]) -> Any:  # noqa: N803
        return {"Responses": {table: [] for table in RequestItems}}


def test_nodes_of_several_batches_beside_spans_do_not_wait_on_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking_reads, "ThreadPoolExecutor", OneThread)
    client: Any = Empty()
    reader = ranking_reads.RankingsReader(client, "Rankings", "Scores", Time(0).clock())
    family = BOARDS.family("b")
    assert family is not None
    metric = family.metrics["points"]
    ranking = Ranking("b", metric, metric.windows[0], 0)
    spans, paths = (
        [Span(Partition(ranking.key, shard), None, 10) for shard in (0, 1)],
        [(60, digit) for digit in range(MAX_KEYS + 1)],
    )

    assert reader.spans(ranking, spans, paths) == ([[], []], {})
    assert reader.spans(ranking, spans, []) == ([[], []], {})
