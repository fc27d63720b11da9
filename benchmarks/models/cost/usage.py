"""What one event uses, told from a board's settings: units of DynamoDB, transactions, and bytes that stay.

A model: nothing is written. Sizes come from the product's own builders of items. How many tiers a batch touches, and
into how many transactions it is cut, comes from members drawn at random, with the product's own `cut` and `deltas`.
Everything else is arithmetic over DynamoDB's rules. `benchmarks/models/grid.py` counts the same over the real requests.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import erf, exp, log
from random import Random
from typing import Final

from benchmarks.harness import population
from benchmarks.harness.capacity_units import TRANSACTIONAL, read, written
from benchmarks.models.assumed import PER_ITEM
from standings.aws.dynamodb.rankings.ranking_actions import EXPIRY_MARGIN, entry_action
from standings.aws.dynamodb.scores.member_items import encode_image
from standings.aws.dynamodb.scores.scores import RECEIPT_LIFETIME
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Family, Metric
from standings.domain.boards.ranking import Ranking
from standings.domain.members.counting import REMOVAL_MARGIN
from standings.domain.members.member_item import Image
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import Place, sort_value
from standings.domain.scoring.sort_order import encode_sortable as sort_text
from standings.domain.tiers.tier_path import FANOUT, ROOT, Path, depth, path, prefixes
from standings.domain.tiers.tier_tree import deltas
from standings.domain.windows.calendar import DAY, HOUR, SECOND
from standings.domain.windows.window import Window
from standings.project.commit_moves import MAX_MOVES, commit_order, cut
from standings.project.prune_tiers import CHANCE, LOOKED_AT, WORTH
from tests.support.dynamodb.storage.sizes import item_size

SIGMA: Final = 1.2
"""Of the log-normal scores."""

DRAWN: Final = 4_000
"""Moves that are drawn, at least."""

LENGTH: Final = {"h": HOUR, "d": DAY, "w": 7 * DAY, "m": 30 * DAY, "y": 365 * DAY}


@dataclass(frozen=True, slots=True)
class Settings:
    """What `boards.toml` says of a board: metrics alike, all with the same windows."""

    windows: tuple[str, ...] = ("all", "day", "last-7-days")
    aggregate: str = "sum"
    ties: str = "member"
    metrics: int = 1
    shards: int = 1

    @property
    def toml(self) -> str:
        """The settings as `boards.toml` has them."""
        windows = ", ".join(f'"{name}"' for name in self.windows)
        said = f'aggregate = "{self.aggregate}", ties = "{self.ties}", windows = [{windows}]'
        lines = [f"metrics.points{n or ''} = {{ {said} }}" for n in range(self.metrics)]
        return "\n".join(['[boards."*"]', f"shards = {self.shards}", *lines])

    @property
    def family(self) -> Family:
        """The family of a board with these settings."""
        (family,) = parse_boards(self.toml).families
        return family


@dataclass(frozen=True, slots=True)
class Traffic:
    """What happens on a board.

    Log-normal scores of that median move by `steps`, evenly drawn. `batch` events of the board come together, of
    members of whom `active` are equally likely (None: all different). `daily` events of a member a day say how often
    one is its first in a period (None: never). Of a best, `improving` of all events are better; `fresh` are members
    that have no entry yet.
    """

    members: int = 200_000
    median: float = 400
    steps: tuple[int, int] = (1, 100)
    batch: int = 500
    active: int | None = None
    daily: float | None = None
    improving: float = 0.5
    fresh: bool = False

    def score(self, rng: Random) -> int:
        """Some member's score."""
        return max(1, round(rng.lognormvariate(log(self.median), SIGMA)))

    def below(self, score: float) -> float:
        """The share of members with less."""
        return 0.0 if score <= 0 else (1 + erf((log(score) - log(self.median)) / SIGMA / 2**0.5)) / 2

    def beside(self, node: Path) -> float:
        """How many members a node of a tree counts."""
        if not node:
            return self.members
        digits = depth(node[0])
        width = FANOUT ** (digits - len(node) + 1)
        first, last = _score_at(node, 0, digits), _score_at(node, FANOUT - 1, digits)
        low = min(first, last)
        return self.members * (self.below(low + width - 0.5) - self.below(low - 0.5))


def _score_at(node: Path, digit: int, digits: int) -> int:
    """The score at the near or the far end of a node, of lists whose highest leads."""
    number = 0
    for one in (*node[1:], *([digit] * (digits - len(node) + 1))):
        number = number * FANOUT + FANOUT - 1 - one
    return number


@dataclass(frozen=True, slots=True)
class Usage:
    """What an event uses, writer to index, and what a board's members leave in the tables."""

    receipts: float
    scores: float
    entries: float
    tiers: float
    index: float
    read_units: float
    records: float
    moves: float
    writer_transactions: float
    projector_transactions: float
    longest: float
    """Transactions one after the other in the ranking that has most of them, for an event of the batch."""

    @property
    def write_units(self) -> float:
        """All of them."""
        return self.receipts + self.scores + self.entries + self.tiers + self.index


@dataclass(frozen=True, slots=True)
class Storage:
    """Bytes that stay, with what storage counts on top of each item."""

    member: float
    """Of a member's item of Scores."""
    entries: float
    """Of a member's entries, and their places in the index."""
    receipts: float
    """Of an event: its receipt, for as long as it is kept, in byte-days."""


@lru_cache(maxsize=256)
def usage(settings: Settings, traffic: Traffic, seed: int = 1) -> Usage:
    """What one event uses, on average."""
    family = settings.family
    distinct = _distinct(traffic) / traffic.batch
    metric = family.metrics["points"]
    image = _image(family, traffic)
    seen = family.has_buckets or not family.adds_up
    receipts = TRANSACTIONAL * written(_receipt_size())
    scores = TRANSACTIONAL * written(item_size(encode_image(image))) * distinct
    reads = read(item_size(encode_image(image)), consistent=False) * distinct if seen else 0.0
    drawn = _Drawn(metric, settings.metrics, traffic, seed)
    entries = tiers = index = moves = transactions = longest = 0.0
    for window in metric.windows:
        for ranking in _rankings(metric, window):
            first = _first(traffic, window) / window.size
            batch = drawn.of(ranking, first)
            entry = entry_action("", ranking, batch.example, 1)["Put"]["Item"]
            moves += batch.moves
            entries += batch.moves * TRANSACTIONAL * written(item_size(entry))
            index += batch.moves * (2 - first) * written(item_size(entry))
            tiers += batch.nodes * TRANSACTIONAL + batch.removal
            reads += batch.reads
            transactions += batch.transactions
            longest = max(longest, batch.transactions)
    return Usage(
        receipts,
        scores,
        settings.metrics * entries,
        settings.metrics * tiers,
        settings.metrics * index,
        reads,
        drawn.changed,
        settings.metrics * moves,
        (1 + distinct) / 100,
        settings.metrics * transactions,
        longest,
    )


def storage(settings: Settings, traffic: Traffic) -> Storage:
    """What stays of a board's members and events."""
    family = settings.family
    image = _image(family, traffic)
    metric = family.metrics["points"]
    entries = 0.0
    for window in metric.windows:
        ranking = next(_rankings(metric, window))
        place = Place(sort_value(round(traffic.median), descending=True), _since(metric))
        entry = entry_action("", ranking, _move(ranking, None, place), 1)["Put"]["Item"]
        entries += settings.metrics * _kept(metric, window, traffic) * 2 * (item_size(entry) + PER_ITEM)
    days = RECEIPT_LIFETIME / DAY
    return Storage(item_size(encode_image(image)) + PER_ITEM, entries, days * (_receipt_size() + PER_ITEM))


def _distinct(traffic: Traffic) -> float:
    """Different members of a batch."""
    if traffic.active is None:
        return traffic.batch
    return traffic.active * (1 - (1 - 1 / traffic.active) ** traffic.batch)


def _first(traffic: Traffic, window: Window) -> float:
    """In how many of the open periods of a window an event is its member's first.

    Events come at random, `daily` of each member: with k of them in a bucket, and N buckets in a period, the sum over
    the N open periods of the chance that none came before is (1 - e^-kN) / k.
    """
    if traffic.fresh:
        return window.size
    if traffic.daily is None or window.unit is None:
        return 0.0
    rate = traffic.daily * LENGTH[window.unit] / DAY
    return min(window.size, (1 - exp(-rate * window.size)) / rate) if rate else window.size


def _rankings(metric: Metric, window: Window) -> Iterator[Ranking]:
    """The rankings of a window that an activity now moves."""
    now = metric.timetable.current(window, population.NOW)
    for period in range(now, now + window.size):
        yield Ranking(population.BOARD, metric, window, period)


def _since(metric: Metric) -> int | None:
    return population.NOW if metric.ties_by_instant else None


def _move(ranking: Ranking, old: Place | None, new: Place) -> Move:
    return Move(ranking, population.member(0), old, new, population.NOW, population.NOW)


def _receipt_size() -> int:
    """An id of 26 bytes, a digest of 12, and when it expires."""
    expiry = {"N": str(population.NOW // SECOND)}
    return item_size({"pk": {"S": "e" * 26}, "d": {"B": b"d" * 12}, "e": expiry})


def _image(family: Family, traffic: Traffic) -> Image:
    """A member's item, with an accumulator for every bucket in which it was active and that is not removed yet."""
    values: dict[str, int] = {}
    marks: dict[str, str] = {}
    for metric in family.metrics.values():
        names = [metric.total()]
        for unit in metric.bucket_codes:
            now = metric.timetable.index(unit, population.NOW)
            gone = now
            while metric.expires(unit, gone) + REMOVAL_MARGIN > population.NOW:
                gone -= 1
            rate = (traffic.daily or 0.0) * LENGTH[unit] / DAY
            active = 1 if traffic.daily is None else max(1, round((now - gone) * (1 - exp(-rate))))
            names += [metric.bucket(unit, now - before) for before in range(active)]
        values.update(dict.fromkeys(names, round(traffic.median)))
        if metric.has_tie_keys:
            mark = sort_text(population.NOW) + ("e" * 26 if metric.aggregate == "last" else "")
            marks.update(dict.fromkeys(names, mark))
    now_stamp = population.NOW
    abs_total = sum(values.values())
    name = population.member(0)
    return Image(population.BOARD, name, now_stamp, now_stamp, abs_total, hidden=False, values=values, tie_keys=marks)


def _kept(metric: Metric, window: Window, traffic: Traffic) -> float:
    """The periods of a window of which a member's entries are there, read or open or not yet removed."""
    if window.unit is None:
        return 1.0
    first = last = metric.timetable.current(window, population.NOW)
    while True:
        until = metric.timetable.readable_until(window, first - 1)
        if until is None or until + EXPIRY_MARGIN <= population.NOW:
            break
        first -= 1
    rate = (traffic.daily or 1.0) * LENGTH[window.unit] / DAY
    taking_part = 0.0
    for period in range(first, last + window.size):
        buckets = min(window.size, last - (period - window.size))
        taking_part += 1 - exp(-rate * buckets)
    return taking_part


@dataclass(frozen=True, slots=True)
class _Batch:
    """Of an event: moves, tiers that are written, transactions; and what cleaning writes and reads for it."""

    moves: float
    nodes: float
    transactions: float
    removal: float
    reads: float
    example: Move


class _Drawn:
    """Batches of members, drawn at random, as one ranking sees them."""

    def __init__(self, metric: Metric, metrics: int, traffic: Traffic, seed: int) -> None:
        self._metric = metric
        self._traffic = traffic
        self._rng = Random(seed)
        # So many members of a batch are done together.
        self._together = max(1, MAX_MOVES // (metrics * sum(window.size for window in metric.windows)))
        self._batches = max(3, -(-DRAWN // traffic.batch))
        # Each batch by member: where it was and where it is, in units.
        self._drawn = [dict(self._batch()) for _ in range(self._batches)]
        self._known: dict[tuple[bool, float], _Batch] = {}
        self.changed = sum(map(len, self._drawn)) / self._batches / traffic.batch

    def _batch(self) -> Iterator[tuple[int, tuple[int, int]]]:
        traffic, rng = self._traffic, self._rng
        events: dict[int, int] = {}
        for number in range(traffic.batch):
            who = number if traffic.active is None else rng.randrange(traffic.active)
            events[who] = events.get(who, 0) + 1
        for who, count in events.items():
            old = traffic.score(rng)
            steps = [rng.randint(*traffic.steps) for _ in range(count)]
            if self._metric.aggregate == "sum":
                yield who, (old, old + sum(steps))
            elif self._metric.aggregate == "last":
                yield who, (old, traffic.score(rng))
            elif better := [step for step in steps if rng.random() < traffic.improving]:
                yield who, (old, old + max(better))

    def of(self, ranking: Ranking, first: float) -> _Batch:
        """The mean batch of a ranking in which that share of the moves is a member's first."""
        until = ranking.readable_until
        cleaned = until is None or until >= population.NOW + WORTH
        if (cleaned, first) not in self._known:
            self._known[cleaned, first] = self._mean(ranking, first, cleaned=cleaned)
        return self._known[cleaned, first]

    def _mean(self, ranking: Ranking, first: float, *, cleaned: bool) -> _Batch:
        rng, events = self._rng, self._batches * self._traffic.batch
        moves = nodes = transactions = born = reads = parents = 0.0
        example = None
        for part in self._parts():
            found = []
            for old, new in part:
                if rng.random() < first:
                    # Whoever is new in a sum has what came just now.
                    score = new - old if self._metric.aggregate == "sum" else new
                    found.append(_move(ranking, None, self._place(score)))
                else:
                    found.append(_move(ranking, self._place(old), self._place(new)))
            found.sort(key=commit_order)
            for chunk in cut(found):
                pairs = [(move.old.sort_value if move.old else None, move.new.sort_value) for move in chunk if move.new]
                moves += len(chunk)
                nodes += len(deltas(pairs))
                transactions += 1
                if cleaned:
                    looked, removing = self._looks(pairs)
                    reads += looked
                    parents += removing
                    born += sum(map(self._born, pairs))
            example = found[0] if found else example
        if example is None:
            example = _move(ranking, None, self._place(1))
        # What dies costs its removal once, and a counter that leads to it where a look finds some.
        removal = TRANSACTIONAL * (born + min(parents, born))
        return _Batch(moves / events, nodes / events, transactions / events, removal / events, reads / events, example)

    def _parts(self) -> Iterator[list[tuple[int, int]]]:
        for batch in self._drawn:
            members = list(batch.values())
            for start in range(0, len(members), self._together):
                yield members[start : start + self._together]

    def _place(self, score: int) -> Place:
        return Place(sort_value(score, descending=True), _since(self._metric))

    def _born(self, pair: tuple[int | None, int]) -> float:
        """How many nodes a move makes that nobody else is in: each will die, and be removed."""
        old, new = pair
        if old is None:
            return 0.0
        was = set(prefixes(path(old)))
        return sum(exp(-self._traffic.beside(node)) for node in prefixes(path(new)) if node and node not in was)

    def _looks(self, pairs: list[tuple[int | None, int]]) -> tuple[float, float]:
        """The nodes that are read after a transaction, in read units, and the chance that some of them are dead."""
        left = [
            path(old)[:-1]
            for old, new in pairs
            if old is not None and path(old)[:-1] != path(new)[:-1] and self._rng.random() < CHANCE
        ][:LOOKED_AT]
        read_nodes = {node for leaf in left for node in prefixes((*leaf, 0))}
        alive = 1.0
        for leaf in left:
            alive *= 1 - exp(-self._traffic.beside(leaf))
        # A node that is not there any more costs as much to ask for.
        return float(len(read_nodes | ({ROOT} if left else set()))), 1 - alive
