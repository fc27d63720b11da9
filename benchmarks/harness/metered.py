"""The writer and the projector on an engine in this process, with every unit counted."""

import time
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import orjson

from benchmarks.harness.meter import Meter, Snapshot
from benchmarks.measure.units import pacing, project, write
from standings.aws.dynamodb.rankings.rankings import DynamoRankings
from standings.aws.dynamodb.rankings.tier_trees import DynamoTrees
from standings.aws.dynamodb.scores.board_records import DynamoBoards
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.catalog.board_catalog import BoardCatalog
from standings.domain.boards.definitions import Boards
from standings.project.projector import Projector
from standings.project.prune_tiers import PrunedRankings
from standings.runtime.retry import Clock
from standings.write.writer import Writer
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables


class Pipeline:
    """Takes batches of events to the index. What is known of boards is read once a minute: that is not counted."""

    def __init__(self, boards: Boards, seed: int) -> None:
        self.client = Engine()
        create_tables(self.client)
        self._meter = Meter(self.client)
        tools = Clock(pacing().now, time.monotonic, time.sleep, Random(seed).random)
        registry = BoardCatalog(boards, DynamoBoards(self.client, "Scores", tools), tools)  # type: ignore[arg-type]
        rankings = PrunedRankings(
            DynamoRankings(self._meter, "Rankings", tools),  # type: ignore[arg-type]
            DynamoTrees(self._meter, "Rankings", tools),  # type: ignore[arg-type]
            tools,
            lambda _: None,
        )
        self._writer = Writer(registry, DynamoScores(self._meter, "Scores", "Receipts", tools), tools)  # type: ignore[arg-type]
        self._projector = Projector(registry, rankings, tools)
        self._seen = 0

    def take(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Bring a batch of events through."""
        write(self._writer, [orjson.dumps(event).decode() for event in events])
        self._seen = project(self._projector, self.client, self._seen, max(1, len(events)))

    @property
    def counted(self) -> Snapshot:
        """What was used so far."""
        return self._meter.snapshot()
