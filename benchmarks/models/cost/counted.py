"""What one event uses, from a board's settings and traffic: counted in a short run of the real writer and projector.

The run posts events of a sample of the members, as often as the traffic says, on a board whose tiers in `all` count all
members. The events of the days (or hours) before are not counted: they fill the tables. Then events are counted on
several days of a slab of the longest rolling window, because an event writes more or less depending on its day's place
in the slab.
"""

import gc
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import cycle
from math import ceil, exp, log
from random import Random
from statistics import mean
from typing import Any, Final

from benchmarks.harness import population
from benchmarks.harness.pipeline import Pipeline, event
from benchmarks.models.assumed import PER_ITEM
from standings.aws.dynamodb.scores import RECEIPT_LIFETIME
from standings.aws.dynamodb.tables import log_key
from standings.domain.boards import Family, Ranking
from standings.domain.boards_toml import parse_boards
from standings.domain.windows import DAY, HOUR
from standings.rankings.rolling.steps import RollingRankings
from standings.runtime.clock import Clock
from tests.support.dynamodb.items import stored_size
from tests.support.dynamodb.table import Stored

SIGMA: Final = 1.2
"""The standard deviation of the logarithms of scores."""
LENGTH: Final = {"h": HOUR, "d": DAY, "w": 7 * DAY, "m": 30 * DAY, "y": 365 * DAY}
MOST_MEMBERS: Final = 200_000
"""The most members in the tiers of a run. With more members an event costs the same, or slightly less."""
MOST_BATCH: Final = 500
"""The largest batch of a run, for larger ones too: the template gives a projector at most so many records."""
MONTH: Final = 30
"""The most days (or hours) before now whose events fill a calendar window."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a board in `boards.toml`: `Settings(("all", "day"), shards=4)`. All its metrics are alike."""

    windows: tuple[str, ...] = ("all", "day", "last-7-days")
    aggregate: str = "sum"
    ties: str = "member"
    metrics: int = 1
    shards: int = 1

    @property
    def toml(self) -> str:
        windows = ", ".join(f'"{name}"' for name in self.windows)
        settings = f'aggregate = "{self.aggregate}", ties = "{self.ties}", windows = [{windows}]'
        lines = [f"metrics.points{n or ''} = {{ {settings} }}" for n in range(self.metrics)]
        return "\n".join(['[boards."*"]', f"shards = {self.shards}", *lines])

    @property
    def text(self) -> str:
        """The windows as a sentence names them: `` `all` and `last-30-days` ``."""
        *most, last = (f"`{name}`" for name in self.windows)
        return f"{', '.join(most)} and {last}" if most else last

    @property
    def family(self) -> Family:
        return _family(self)


@cache
def _family(settings: Settings) -> Family:
    (family,) = parse_boards(settings.toml).families
    return family


@dataclass(frozen=True, slots=True)
class Traffic:
    """The traffic of a board: `Traffic(members=1_000_000, daily=5)`.

    Scores are log-normal with a median. Events change them by `amounts`, drawn evenly.
    - `batch`: events of the board that come together.
    - `active`: members from whom the events of a batch are drawn; None: all are of different members.
    - `daily`: events of a member per day; None: its first was today, and all of its score is of today.
    - `comes`: the share of days on which a member has events, drawn for each day; None: as `daily` says by chance.
    - `improving`: the share of events that improve a `max` or `min`.
    - `counted`: events that are counted at least, and twice the fewest members of a run. There are more members than
      have events between two folds of a log, since these share no nodes.
    """

    members: int = MOST_MEMBERS
    median: float = 400
    amounts: tuple[int, int] = (1, 100)
    batch: int = 500
    active: int | None = None
    daily: float | None = None
    comes: float | None = None
    improving: float = 0.5
    counted: int = 400

    def score(self, rng: Random) -> int:
        return max(1, round(rng.lognormvariate(log(self.median), SIGMA)))


@dataclass(frozen=True, slots=True)
class Usage:
    """Write units of an event by table and index, and what else it uses; the stored bytes of a member and a receipt."""

    receipts: float
    scores: float
    rankings: float
    places: float
    read_units: float
    records: float
    """Records of the stream."""
    moves: float
    writer_transactions: float
    projector_transactions: float
    single_writes: float
    """Writes outside transactions: list items of rolling windows, and nodes that a fold writes."""
    member_bytes: float
    """Bytes of a member's item in Scores; like all bytes with those that DynamoDB adds to each item."""
    keys_bytes: float
    """Bytes of that item's row in the index `boards`, which holds its keys alone."""
    entries_bytes: float
    """Bytes of a member's entries, and of their rows in the index."""
    receipt_byte_days: float

    @property
    def write_units(self) -> float:
        return self.receipts + self.scores + self.rankings + self.places


_known: dict[tuple[Settings, Traffic], Usage] = {}


def usage(settings: Settings, traffic: Traffic) -> Usage:
    """Return the average usage of one event. It is counted once in a process."""
    if (settings, traffic) not in _known:
        _known[settings, traffic] = _counted((settings, traffic))
    return _known[settings, traffic]


def count(wanted: Iterable[tuple[Settings, Traffic]]) -> None:
    """Count many usages side by side, one on each processor; `usage` then knows them."""
    missing = [one for one in dict.fromkeys(wanted) if one not in _known]
    # The collector would search a run's items for cycles again and again.
    with ProcessPoolExecutor(initializer=gc.disable) as pool:
        _known.update(zip(missing, pool.map(_counted, missing), strict=True))


def _counted(wanted: tuple[Settings, Traffic]) -> Usage:
    run = _Run(*wanted)
    before = run.counted.meter.snapshot()
    run.count()
    spent, events = run.counted.meter.snapshot() - before, run.events
    write = {table: units.write / events for table, units in spent.tables.items()}
    requests = {name: units.round_trips / events for name, units in spent.operations.items()}
    used = Usage(
        receipts=write["Receipts"],
        scores=write["Scores"],
        rankings=write.get("Rankings", 0.0),
        places=write.get("Rankings/places", 0.0),
        read_units=spent.total.read / events,
        records=run.records / events,
        moves=run.moves / events,
        writer_transactions=requests["TransactWriteItems"] - run.projector_transactions / events,
        projector_transactions=run.projector_transactions / events,
        single_writes=sum(requests.get(name, 0.0) for name in ("PutItem", "UpdateItem", "DeleteItem")),
        member_bytes=mean(map(_stored_bytes, run.stored("Scores", "sk", "member-"))),
        keys_bytes=run.keys_bytes(),
        entries_bytes=run.entries_bytes(),
        receipt_byte_days=RECEIPT_LIFETIME / DAY * mean(map(_stored_bytes, run.stored("Receipts", "pk", ""))),
    )
    del run
    gc.collect()
    return used


def _stored_bytes(stored: Stored) -> int:
    """Return the bytes of an item, with those that DynamoDB adds."""
    return stored.size + PER_ITEM


@lru_cache(maxsize=4)
def _population(members: int, median: float) -> tuple[list[int], population.Tree, Any]:
    """Return the scores of all members, the highest first, their tree, and the state of the generator after them."""
    rng = Random(1)
    traffic = Traffic(members, median)
    scores = sorted((traffic.score(rng) for _ in range(members)), reverse=True)
    return scores, population.tree_of(scores), rng.getstate()


class _Run:
    """One board: a pipeline in which members live uncounted, and one over the same tables that counts."""

    def __init__(self, settings: Settings, traffic: Traffic) -> None:
        self._settings = settings
        self._traffic = traffic
        self._rng = Random()
        self._now = population.NOW
        clock = Clock(lambda: self._now, lambda: 0.0, lambda _: None, Random(1).random)
        boards = parse_boards(settings.toml)
        self._lived = Pipeline(boards, clock, prune=True, counted=False)
        self.counted = Pipeline(boards, clock, prune=True, engine=self._lived.client)
        self._metrics = settings.family.metrics
        self._windows = self._metrics["points"].windows
        self._batch = min(traffic.batch, MOST_BATCH, traffic.members)
        self._everyone, tree, state = _population(min(traffic.members, MOST_MEMBERS), traffic.median)
        self._rng.setstate(state)
        for metric in self._metrics.values():
            for window in filter(lambda one: one.unit is None, metric.windows):
                population.place_tree(self.counted.client, Ranking(population.BOARD, metric, window, 0), tree)
        self._scores: dict[str, int] = {}
        self._members = [] if traffic.daily is None else self._draw()
        self._turns: Iterator[str] = iter(())
        self._posted = 0
        self.events = self.records = self.moves = 0
        self.projector_transactions = 0

    @property
    def _step(self) -> int:
        """The length of a step of the members' life, in milliseconds."""
        return HOUR if any(window.unit == "h" for window in self._windows) else DAY

    def _draw(self) -> list[str]:
        """Draw members of whom nothing is stored yet."""
        count = self._traffic.active or ceil(max(self._batch, self._traffic.counted // 2) / (self._traffic.comes or 1))
        count = min(count, len(self._everyone))
        chosen = {population.member(n): self._everyone[n] for n in self._rng.sample(range(len(self._everyone)), count)}
        self._scores |= chosen
        return list(chosen)

    def count(self) -> None:
        """Count events on some steps, which lie differently in their slabs, each at another time of the day."""
        daily = self._traffic.daily
        slab = max((len(window.slab_of(0)) for window in self._windows if window.rolling), default=1)
        # Blocks begin at even steps, so an odd stride meets all kinds of them.
        every = slab // 4 | 1
        turns = max(min(slab, 4), ceil(self._traffic.counted / max(self._traffic.counted // 2, self._batch)))
        if daily is not None:
            self._live(daily)
        for turn in range(turns):
            passed = (turn + 0.5) / turns
            today = population.NOW // self._step + turn * every
            if daily is not None:
                for step in range(today - every + 1, today) if turn else ():
                    self._now = step * self._step
                    self._come(self._share(daily), 0.05)
            self._now = round((today + passed) * self._step)
            comes = self._traffic.comes or 1.0
            if daily is not None:
                active = [name for name in self._members if comes == 1 or self._rng.random() < comes]
                self._come(1 - exp(-daily / comes * passed * self._step / DAY), 0.05, active)
            else:
                active = self._members = self._draw()
                self._come(1.0, 1.0)
            self._fold()
            self._turns = cycle(active)
            left = self._traffic.counted / turns
            while left > 0 or not self._is_folded():
                self._count_batch()
                left -= self._batch

    def _live(self, daily: float) -> None:
        """Let the members live through the steps before now; their scores are about what was drawn for them."""
        spans = (
            window.size if window.rolling else min(MONTH, LENGTH[window.unit] // self._step)
            for window in self._windows
            if window.unit is not None
        )
        steps = max(spans, default=1) + 1
        active = self._share(daily)
        for ago in range(steps, 0, -1):
            self._now = population.NOW - ago * self._step
            self._come(1.0 if ago == steps else active, 1 / (1 + active * (steps - 1)))

    def _share(self, daily: float) -> float:
        """The share of members that come in a step."""
        return self._traffic.comes or 1 - exp(-daily * self._step / DAY)

    def _come(self, share: float, part: float, among: Sequence[str] | None = None) -> None:
        """Let a share of the members come, or of those that are named; a sum grows by this part of the score."""
        came = [name for name in (self._members if among is None else among) if self._rng.random() < share]
        adds = self._settings.aggregate == "sum"
        lived = [(name, max(1, round(self._scores[name] * (part if adds else 1)))) for name in came]
        for start in range(0, len(lived), MOST_BATCH):
            self._write(self._lived, lived[start : start + MOST_BATCH])
            self._lived.project(MOST_BATCH)
        self.counted.skip()

    def _count_batch(self) -> None:
        if self._traffic.active is None:
            names = [next(self._turns) for _ in range(self._batch)]
        else:
            names = self._rng.choices(self._members, k=self._batch)
        records = len(self.counted.stream)
        self._write(self.counted, [(name, self._amount(name)) for name in names])
        before = self.counted.meter.requests("TransactWriteItems")
        self.records += len(self.counted.stream) - records
        self.moves += self.counted.project(self._batch)
        self.projector_transactions += self.counted.meter.requests("TransactWriteItems") - before
        self.events += self._batch

    def _amount(self, name: str) -> int:
        amount = self._rng.randint(*self._traffic.amounts)
        if self._settings.aggregate == "sum":
            return amount
        if self._settings.aggregate == "last":
            return self._traffic.score(self._rng)
        if self._rng.random() >= self._traffic.improving:
            return 0
        self._scores[name] += amount
        return self._scores[name]

    def _write(self, pipeline: Pipeline, came: Sequence[tuple[str, int]]) -> None:
        """Write one batch: an event for each member, which gives so many points in each metric."""
        pipeline.write(
            event(
                f"event-{self._posted + n:018}", population.BOARD, name, dict.fromkeys(self._metrics, points), self._now
            )
            for n, (name, points) in enumerate(came)
        )
        self._posted += len(came)

    def _fold(self) -> None:
        """Fold what the members' life has left in the logs of rolling windows."""
        projector = self._lived.projector
        for rankings in self._rolling():
            projector.rankings.rolling.fold(rankings)

    def _is_folded(self) -> bool:
        """Whether every log is empty: events are counted until then, so that each bears its share of a fold."""
        keys = ({"pk": {"S": log_key(rankings.key, 0)}} for rankings in self._rolling())
        logs = (self.counted.client.get_item(TableName="Rankings", Key=key)["Item"] for key in keys)
        return all(int(log["z"]["N"]) == 0 for log in logs)

    def _rolling(self) -> Iterator[RollingRankings]:
        for metric in self._metrics.values():
            for window in metric.windows:
                if window.rolling:
                    yield RollingRankings(population.BOARD, metric, window)

    def stored(self, table: str, key: str, beginning: str) -> Iterator[Stored]:
        """Return the items of a table that belong to members or events, which the run has left."""
        return (stored for stored in self.counted.client.table(table).rows.values() if beginning in stored.item[key])

    def keys_bytes(self) -> float:
        """Return the bytes of a member's row in the index of members' boards."""
        items = self.stored("Scores", "sk", "member-")
        return mean(stored_size({name: one.item[name] for name in ("pk", "sk")}) + PER_ITEM for one in items)

    def entries_bytes(self) -> float:
        """Return the bytes of a member's rows and entries, twice for those in the index."""
        items = self.stored("Rankings", "pk", "member-")
        return sum((2 if "s" in one.item else 1) * _stored_bytes(one) for one in items) / len(self._scores)
