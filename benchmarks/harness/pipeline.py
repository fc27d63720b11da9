"""The writer and the projectors on an engine in this process; a meter counts every request."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import orjson

from benchmarks.harness import population
from benchmarks.harness.meter import Meter
from standings.aws.dynamodb.scores import BoardRecords, Scores, decode_change
from standings.catalog import BoardCatalog
from standings.domain.boards import Boards
from standings.domain.windows import instant
from standings.project.projector import Projector, Record
from standings.rankings.calendar.pruning import Pruning
from standings.rankings.storing import Rankings
from standings.runtime.clock import Clock
from standings.write.corrections import Corrections
from standings.write.writer import QueueMessage, Writer
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

_NEVER: Final = float("inf")


def still_clock(now: int = population.NOW) -> Clock:
    """Return a clock that stands still: cached board records never expire and no deadline passes."""
    return Clock(lambda: now, lambda: 0.0, lambda _: None, lambda: 0.5)


def event(
    event_id: str, board: str, member: str, metrics: Mapping[str, int], at_ms: int = population.NOW
) -> Mapping[str, Any]:
    """Return an event as a producer posts it."""
    return {"id": event_id, "board": board, "member": member, "at": instant(at_ms), "metrics": metrics}


def refuse_to_park(sequence: str, reason: str, bug: Exception | None) -> None:
    """Raise AssertionError: no record of a benchmark is parked."""
    raise AssertionError(f"{sequence}: {reason}") from bug


class Pipeline:
    """A writer and one projector. `prune` has the projector look for empty tiers, as the deployed one does.

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
        self.catalog = BoardCatalog(boards, BoardRecords(self.client, "Scores", tools), tools)  # type: ignore[arg-type]
        scores = Scores(client, "Scores", "Receipts", tools)
        self._writer = Writer(self.catalog, scores, tools, Corrections(self.catalog, scores, tools).apply)
        pruning = Pruning(client, "Rankings", tools) if prune else None
        rankings = Rankings(client, "Rankings", tools, pruning=pruning)
        self.projector = Projector(self.catalog, rankings, tools, scores.images)
        self._projected = len(self.stream)

    def write(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Apply one batch of events; AssertionError if one was not applied."""
        messages = [QueueMessage(str(number), orjson.dumps(one).decode()) for number, one in enumerate(events)]
        result = self._writer.write(messages, _NEVER)
        if result.applied != len(messages):
            raise AssertionError(f"expected {len(messages)} applied events, got {result}")

    def project(self, size: int) -> int:
        """Project the new records of the stream in batches of `size`; return the moves, or raise AssertionError."""
        moves = 0
        for start in range(self._projected, len(self.stream), size):
            batch = [one["dynamodb"] for one in self.stream[start : start + size]]
            records = [Record(one["SequenceNumber"], decode_change(one)) for one in batch]
            result = self.projector.project(records, refuse_to_park, _NEVER)
            if result.failed is not None:
                raise AssertionError(f"expected a projected batch, got {result}")
            moves += result.moves
        self._projected = len(self.stream)
        return moves

    def skip(self) -> None:
        """Do not project the records of what was loaded."""
        self._projected = len(self.stream)

    @property
    def stream(self) -> Sequence[dict[str, Any]]:
        (shard,) = self.client.stream("Scores")
        return shard
