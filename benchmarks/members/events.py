"""What an event costs on a board of many members: together with others, or alone.

How many steps an event changes depends on where today is in a slab of periods. So events are counted on each day of a
slab, and a figure is the mean.
"""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from benchmarks.harness import population
from benchmarks.harness.capacity_units import Units
from benchmarks.harness.meter import Snapshot
from benchmarks.harness.pipeline import Pipeline, event, still_clock
from benchmarks.members.breakdown import breakdown
from benchmarks.members.histories import Histories
from benchmarks.members.loader import Loader
from standings.aws.dynamodb.keys import log_key
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.rolling.rolling_rankings import RollingRankings
from standings.domain.windows.calendar import DAY

BATCH: Final = 500
LEAST_ALONE: Final = 20
"""Events in a row on a day, at least. They go on until the log has been folded, so that each bears its share."""
MOST_ALONE: Final = 500
AMOUNTS: Final = (1, 100)
"""The fewest and the most points of an event, unless a scene has others."""


class Scene(NamedTuple):
    """A board's definition, its members, the days on which events are counted, and how many points an event has."""

    definition: str
    histories: Histories
    days: Sequence[int]
    amounts: tuple[int, int] = AMOUNTS


class Day:
    """A board on one day, and the members whose events are counted."""

    def __init__(self, scene: Scene, chosen: Mapping[int, Mapping[int, int]], day: int) -> None:
        self._now = population.NOW + day * DAY
        self._rng = Random(day)
        self._amounts = scene.amounts
        self.row_transactions = 0
        self.pipeline = Pipeline(parse_boards(scene.definition), still_clock(self._now))
        self.metric = population.family(scene.definition).metrics["points"]
        Loader(self.pipeline.client, population.BOARD, self.metric, self._now).load(scene.histories, chosen)
        self.pipeline.skip()
        self.rolling = [
            RollingRankings(population.BOARD, self.metric, window) for window in self.metric.windows if window.rolling
        ]

    def apply(self, names: Sequence[str]) -> None:
        """Write and project one event for each of these members, as one batch."""
        self.pipeline.write(
            event(f"event-{name}", population.BOARD, name, {"points": self._rng.randint(*self._amounts)}, self._now)
            for name in names
        )
        before = self._transactions()
        self.pipeline.project(len(names))
        self.row_transactions += self._transactions() - before

    def _transactions(self) -> int:
        return self.pipeline.meter.snapshot().operations.get("TransactWriteItems", Units()).round_trips

    def fold(self) -> None:
        projector = self.pipeline.projector
        for rankings in self.rolling:
            projector.rankings.rolling.fold(rankings, 0)

    def is_folded(self) -> bool:
        return all(self._bytes(rankings) == 0 for rankings in self.rolling)

    def _bytes(self, rankings: RollingRankings) -> int:
        key = {"pk": {"S": log_key(rankings.key, 0)}}
        return int(self.pipeline.client.get_item(TableName="Rankings", Key=key)["Item"]["z"]["N"])


def _together(day: Day, names: Sequence[str]) -> int:
    day.apply(names[:BATCH])
    day.fold()
    return BATCH


def _alone(day: Day, names: Sequence[str]) -> int:
    for count, name in enumerate(names, start=1):
        day.apply([name])
        if count >= LEAST_ALONE and day.is_folded():
            return count
    day.fold()
    return len(names)


KINDS: Final = {"together": _together, "alone": _alone}


def cost(scene: Scene, kind: str, seed: int = 1) -> dict[str, Any]:
    """Return the units of an event by what they are for, and the transactions of its rows."""
    rng = Random(seed)
    drawn = {day: rng.sample(range(scene.histories.count), MOST_ALONE) for day in scene.days}
    histories = scene.histories.of({number for numbers in drawn.values() for number in numbers})
    days: list[tuple[int, dict[str, float]]] = []
    for day_number, numbers in drawn.items():
        day = Day(scene, {number: histories[number] for number in numbers}, day_number)
        before = day.pipeline.meter.snapshot()
        events = KINDS[kind](day, [population.member(number) for number in numbers])
        days.append((events, dict(_figures(day, day.pipeline.meter.snapshot() - before))))
    events = sum(count for count, _ in days)
    names = dict.fromkeys(name for _, found in days for name in found)
    return {
        "events": events,
        **{name: round(sum(found.get(name, 0.0) for _, found in days) / events, 2) for name in names},
    }


def _figures(day: Day, spent: Snapshot) -> Iterator[tuple[str, float]]:
    yield "write_units_per_event", spent.total.write
    yield "read_units_per_event", spent.total.read
    yield "row_transactions_per_event", day.row_transactions
    for part, units in sorted(breakdown(day.metric, spent).items()):
        yield f"write: {part}", units.write
        yield f"read: {part}", units.read
