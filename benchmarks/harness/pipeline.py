"""Writer and projectors on one board of a known shape, every request counted: what events cost, which key is hot."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Final

from benchmarks.harness import population, shapes
from benchmarks.harness.meter import Meter, Snapshot
from benchmarks.harness.shapes import Scores
from benchmarks.harness.virtual_time import conflict
from benchmarks.measure.units import event, pacing, project_batch, write
from standings.aws.dynamodb.rankings.rankings import CONFLICTS, DynamoRankings
from standings.aws.dynamodb.scores.board_records import DynamoBoards
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.catalog.board_catalog import BoardCatalog
from standings.domain.boards.boards_toml import parse_boards
from standings.project.projector import Projector
from standings.write.writer import Writer
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

BEFORE: Final = 500
"""Events in a batch of those that give members their items, which are not counted."""


class Met:
    """A client whose first transactions meet somebody at the tiers, as those of several projectors do."""

    def __init__(self, client: Any, times: int) -> None:
        self._client = client
        self._times = times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def transact_write_items(self, **request: Any) -> Any:
        """Write, unless somebody is met."""
        tiers = ["Update" in action for action in request["TransactItems"]]
        if self._times and any(tiers) and not all(tiers):
            self._times -= 1
            raise conflict(tiers)
        return self._client.transact_write_items(**request)


class Pipeline:
    """A board with `scores`, of which the members in `chosen` have items and entries.

    Of several lanes each has a projector of its own, and batches go to them in turn.
    """

    def __init__(self, definition: str, scores: Scores, chosen: Sequence[int], lanes: int = 1) -> None:
        self.client = Engine()
        create_tables(self.client)
        self.meter = Meter(self.client)
        boards = parse_boards(definition)
        family = boards.family(population.BOARD)
        if family is None:
            raise LookupError(population.BOARD)
        shapes.place(self.client, population.ranking_of(family), scores, chosen)
        registry = BoardCatalog(boards, DynamoBoards(self.client, "Scores", pacing()), pacing())  # type: ignore[arg-type]
        self._writer = Writer(registry, DynamoScores(self.meter, "Scores", "Receipts", pacing()), pacing())  # type: ignore[arg-type]
        self._projectors = []
        for lane in range(lanes):
            chance = (lane + 0.5) / lanes
            tools = replace(pacing(), sleep=lambda _: None, random=partial(float, chance))
            # Each doubling of the lanes is worth two conflicts.
            client = Met(self.meter, CONFLICTS * (lanes.bit_length() - 1))
            rankings = DynamoRankings(client, "Rankings", tools, lanes)  # type: ignore[arg-type]
            self._projectors.append(Projector(registry, rankings, tools))
        self._seen = 0
        self._events = 0
        for start in range(0, len(chosen), BEFORE):
            before = {population.member(number): scores[number] for number in chosen[start : start + BEFORE]}
            self.write(before)
        for projector in self._projectors:  # each has met whom it meets before anything is counted
            project_batch(projector, self._records(self._seen, self._seen + BEFORE))
        self.project(BEFORE)

    def write(self, points: dict[str, int]) -> None:
        """Apply one batch: an event for each member."""
        self._events += 1
        write(
            self._writer,
            [event(f"{self._events}-{name}", population.BOARD, name, amount) for name, amount in points.items()],
        )

    def project(self, batch: int) -> None:
        """Project what is new in batches, by one projector after the other."""
        (shard,) = self.client.stream("Scores")
        for turn, start in enumerate(range(self._seen, len(shard), batch)):
            projector = self._projectors[turn % len(self._projectors)]
            project_batch(projector, self._records(start, start + batch))
        self._seen = len(shard)

    def _records(self, start: int, end: int) -> list[dict[str, Any]]:
        (shard,) = self.client.stream("Scores")
        return shard[start:end]


def counted(pipeline: Pipeline, members: Sequence[str], batch: int, steps: tuple[int, int], seed: int = 1) -> Snapshot:
    """What an event for each of some members costs in all, in batches."""
    rng = Random(seed)
    before = pipeline.meter.snapshot()
    for start in range(0, len(members), batch):
        pipeline.write({name: rng.randint(*steps) for name in members[start : start + batch]})
    pipeline.project(batch)
    return pipeline.meter.snapshot() - before
