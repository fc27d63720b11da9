"""What a look at the top of a ranking costs, with and without an announcement.

`python -m benchmarks announcements` writes `benchmarks/results/announcements.json` and a table of `docs/cost.md`. It
compares every announced top with a sorted list.
"""

from collections.abc import Iterator
from random import Random
from typing import Any, Final

import orjson

from benchmarks.harness import population
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.pipeline import event
from benchmarks.harness.questions import Answer, Board
from benchmarks.harness.results_file import Output
from benchmarks.harness.truth import Truth
from benchmarks.pages.tables import Table
from standings.announce import AT_MOST_EVERY_MS, Announcer
from standings.aws.dynamodb.scores import BoardRecords
from standings.aws.dynamodb.versioned_items import AnnouncedTops
from standings.aws.eventbridge import EventBus
from standings.aws.sqs import Look
from standings.domain.boards_toml import parse_boards
from standings.rankings.reading import TopReads
from standings.runtime.clock import Clock
from standings.stores import RankingName
from tests.support.aws.fakes import Bus

MEMBERS: Final = 10_000
LENGTHS: Final = (3, 10, 100)
LOOK: Final = Look(RankingName(population.BOARD, "points", "all", 0))
NOTHING: Final = "nothing has changed"
ANNOUNCED: Final = "a new leader is announced"


class Measured:
    """A board whose top of some length is announced, with its announcer. Its clock stands still unless it is moved."""

    def __init__(self, length: int) -> None:
        self._now = population.NOW
        clock = Clock(lambda: self._now, lambda: 0.0, lambda _: None, lambda: 0.5)
        boards = parse_boards(f"{population.BOARDS}\nannounce.all = {{ top = {length} }}")
        self._length = length
        self._board = Board(boards, clock=clock)
        self._scores = population.finegrained(Random(length), MEMBERS)
        population.place_members(self._board.client, self._board.ranking("all"), self._scores)
        self._board.read_record()
        self._bus = Bus()
        meter: Any = self._board.pipeline.meter
        bus: Any = self._bus
        self._announcer = Announcer(
            boards,
            BoardRecords(meter, "Scores", clock),
            AnnouncedTops(meter, "Rankings"),
            TopReads(meter, "Rankings", clock),
            EventBus(lambda: bus),
            clock,
            "standings",
        )

    def rows(self) -> Iterator[Answer]:
        """Measure a look at a new leader's top, then one at the same top."""
        self._lead("first")
        self._look()
        self._lead("second")
        for what in (ANNOUNCED, NOTHING):
            before, heard = self._board.pipeline.meter.snapshot().total, len(self._bus.events)
            self._look()
            cost = self._board.pipeline.meter.snapshot().total - before
            events = self._bus.events[heard:]
            if len(events) != (what == ANNOUNCED):
                raise AssertionError(f"{what}: got {len(events)} events")
            yield {
                "top": self._length,
                "look": what,
                "read_units": cost.read,
                "write_units": cost.write,
                "requests": cost.round_trips,
                "event_bytes": sum(len(orjson.dumps(one)) for one in events),
            }

    def _lead(self, member: str) -> None:
        points = max(self._scores.values()) + 1
        self._scores[member] = points
        self._board.pipeline.write([event(member, self._board.name, member, {"points": points})])
        self._board.pipeline.project(1)

    def _look(self) -> None:
        self._now += AT_MOST_EVERY_MS
        heard = len(self._bus.events)
        again = self._announcer.look(LOOK)
        # An announcement is followed by one more look, which is measured as a look of its own.
        if again != ((LOOK, 1) if len(self._bus.events) > heard else None):
            raise AssertionError(f"expected a proven top, got another look: {again}")
        announced = [line["member"] for line in self._bus.events[-1]["top"]]
        if announced != Truth(self._scores).order[: self._length]:
            raise AssertionError(f"announced {announced}")


def measure(_: Output) -> Answer:
    return {"members": MEMBERS, "looks": [row for length in LENGTHS for row in Measured(length).rows()]}


LOOKS: Final = Table(
    "top | a look at which | read units | write units | requests of DynamoDB | bytes of the event",
    "{top} | {look} | {read_units:g} | {write_units:g} | {requests} | {bytes}",
    lambda result: ({**row, "bytes": row["event_bytes"] or ""} for row in result["looks"]),
)
BENCHMARK: Final = Benchmark("announcements", measure, {"docs/cost.md": {"announcements": LOOKS}})
