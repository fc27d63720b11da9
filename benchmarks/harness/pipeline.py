"""The writer and the projectors on an engine in this process; a meter counts every request."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from random import Random
from typing import Any, Final

import orjson

from benchmarks.harness import population
from benchmarks.harness.meter import Meter, Snapshot
from benchmarks.harness.shapes import Scores
from benchmarks.harness.truth import ByName
from benchmarks.harness.virtual_time import conflict
from standings.aws.dynamodb.rankings.rankings import CONFLICTS, DynamoRankings
from standings.aws.dynamodb.rankings.tier_trees import DynamoTrees
from standings.aws.dynamodb.scores.board_records import DynamoBoards
from standings.aws.dynamodb.scores.member_items import decode_change
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.catalog.board_catalog import BoardCatalog
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Boards
from standings.project.projector import Projector, Record
from standings.project.prune_tiers import PrunedRankings
from standings.runtime.retry import Clock
from standings.write.writer import QueueMessage, Writer
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

BEFORE: Final = 500
"""Batch size of the events that create the members' items; these events are not measured."""
_NEVER: Final = float("inf")


def still_clock(now: int = population.NOW) -> Clock:
    """Return a clock that stands still: cached board records never expire and no deadline passes."""
    return Clock(lambda: now, lambda: 0.0, lambda _: None, lambda: 0.5)


def event(
    event_id: str, board: str, member: str, metrics: Mapping[str, int], at_ms: int = population.NOW
) -> Mapping[str, Any]:
    """Return an event as a producer posts it."""
    at = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat()
    return {"id": event_id, "board": board, "member": member, "at": at, "metrics": metrics}


def refuse_to_park(sequence: str, reason: str, bug: Exception | None) -> None:
    """Raise AssertionError: no record of a benchmark is parked."""
    raise AssertionError(f"{sequence}: {reason}") from bug


class Pipeline:
    """A writer and one projector. `prune` has the projector look for dead tiers, as the deployed one does.

    With `counted` false no request is counted, which is much faster. `engine` is one that another pipeline has filled.
    Board records are read uncounted: a process reads each once a minute.
    """

    def __init__(
        self,
        boards: Boards,
        tools: Clock | None = None,
        *,
        prune: bool = False,
        counted: bool = True,
        engine: Engine | None = None,
    ) -> None:
        tools = tools or still_clock()
        self.client = engine or Engine()
        if engine is None:
            create_tables(self.client)
        self.meter = Meter(self.client)
        client: Any = self.meter if counted else self.client
        self.catalog = BoardCatalog(boards, DynamoBoards(self.client, "Scores", tools), tools)  # type: ignore[arg-type]
        self._writer = Writer(self.catalog, DynamoScores(client, "Scores", "Receipts", tools), tools)
        rankings: Any = DynamoRankings(client, "Rankings", tools)
        if prune:
            rankings = PrunedRankings(rankings, DynamoTrees(client, "Rankings", tools), tools, lambda _: None)
        self.projectors = [Projector(self.catalog, rankings, tools)]
        self._projected = len(self.stream)

    def write(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Apply one batch of events; AssertionError if one was not applied."""
        messages = [QueueMessage(str(number), orjson.dumps(one).decode()) for number, one in enumerate(events)]
        result = self._writer.write(messages, _NEVER)
        if result.applied != len(messages):
            raise AssertionError(f"expected {len(messages)} applied events, got {result}")

    def project(self, size: int) -> int:
        """Project the new records of the stream in batches of `size`; the projectors take turns. Return the moves."""
        moves = 0
        for turn, start in enumerate(range(self._projected, len(self.stream), size)):
            projector = self.projectors[turn % len(self.projectors)]
            moves += project_batch(projector, self.stream[start : start + size])
        self._projected = len(self.stream)
        return moves

    def skip(self) -> None:
        """Do not project the records of what was loaded."""
        self._projected = len(self.stream)

    @property
    def stream(self) -> Sequence[dict[str, Any]]:
        """All records of the stream so far."""
        (shard,) = self.client.stream("Scores")
        return shard


def project_batch(projector: Projector, records: Iterable[dict[str, Any]]) -> int:
    """Project one batch of stream records and return its moves; AssertionError if it failed."""
    batch = [Record(one["dynamodb"]["SequenceNumber"], decode_change(one["dynamodb"])) for one in records]
    result = projector.project(batch, refuse_to_park, _NEVER)
    if result.failed is not None:
        raise AssertionError(f"expected a projected batch, got {result}")
    return result.moves


class _Met:
    """A client whose first transactions over tiers and entries are cancelled, as if they met another projector's."""

    def __init__(self, client: Any, times: int) -> None:
        self._client = client
        self._times = times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def transact_write_items(self, **request: Any) -> Any:
        """Write, or cancel if transactions are left to cancel."""
        tiers = ["Update" in action for action in request["TransactItems"]]
        if self._times and any(tiers) and not all(tiers):
            self._times -= 1
            raise conflict(tiers)
        return self._client.transact_write_items(**request)


class ShapedPipeline(Pipeline):
    """A pipeline on a board with `scores`; the members in `chosen` have items and entries.

    Each of several lanes has a projector of its own.
    """

    def __init__(self, definition: str, scores: Scores, chosen: Sequence[int], lanes: int = 1) -> None:
        super().__init__(parse_boards(definition))
        ranking = population.ranking_of(population.family(definition))
        entries = list(map(population.member, chosen))
        population.place_members(self.client, ranking, ByName(scores), entries=entries)
        self.projectors = [self._projector(lane, lanes) for lane in range(lanes)]
        self._batches = 0
        for start in range(0, len(chosen), BEFORE):
            self.add({population.member(number): scores[number] for number in chosen[start : start + BEFORE]})
        first = self.stream[:BEFORE]
        for projector in self.projectors:  # all their conflicts happen here, before anything is measured
            project_batch(projector, first)
        self.project(BEFORE)

    def _projector(self, lane: int, lanes: int) -> Projector:
        """Make a projector that moves to one lane of so many: each doubling of the lanes takes some conflicts."""
        tools = replace(still_clock(), random=partial(float, (lane + 0.5) / lanes))
        client = _Met(self.meter, CONFLICTS * (lanes.bit_length() - 1))
        return Projector(self.catalog, DynamoRankings(client, "Rankings", tools, lanes), tools)  # type: ignore[arg-type]

    def add(self, points: Mapping[str, int]) -> None:
        """Apply one batch with an event for each member."""
        self._batches += 1
        self.write(
            event(f"{self._batches}-{name}", population.BOARD, name, {"points": amount})
            for name, amount in points.items()
        )

    def cost(self, members: Sequence[str], batch: int, amounts: tuple[int, int]) -> Snapshot:
        """Apply and project an event for each of these members, in batches; return what that cost in all."""
        rng = Random(1)
        before = self.meter.snapshot()
        for start in range(0, len(members), batch):
            self.add({name: rng.randint(*amounts) for name in members[start : start + batch]})
        self.project(batch)
        return self.meter.snapshot() - before
