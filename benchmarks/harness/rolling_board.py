"""A large board with a rolling window, of which everything is loaded that some questions read.

`LIVES` say what members did on which days. They are not lived: every window is loaded at once, with the product's own
builders of items.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Any, Final, NamedTuple

from benchmarks.harness import population
from benchmarks.harness.pipeline import still_clock
from benchmarks.harness.population import BOUND, Tree, entry, expiry_of, member, nodes
from benchmarks.harness.questions import Board, Questions
from benchmarks.harness.truth import MemberTruth, number_of
from standings.aws.dynamodb.scores import encode_image
from standings.aws.dynamodb.tables import log_key
from standings.domain.boards import Metric, Ranking
from standings.domain.boards_toml import parse_boards
from standings.domain.members import Image, Move, place
from standings.domain.scoring import sort_value
from standings.domain.tiers import Path, path, prefixes
from standings.domain.windows import DAY, MAX_SLAB, MINUTE, SECOND, Window
from standings.rankings import EXPIRY_MARGIN
from standings.rankings.rolling.steps import (
    CountChange,
    LogEntry,
    RollingRankings,
    Shift,
    encode_entry,
    list_item,
    row_item,
    steps_of,
)
from standings.rankings.rolling.storing import ROOM
from standings.read.member_ranks import MAX_MEMBERS
from tests.support.dynamodb.engine import Engine

NOON: Final = population.NOW // DAY * DAY + DAY // 2
ENDED: Final = -5
"""The period that ended so many days before today."""
OFFSETS: Final = (ENDED, -1, 0, 1)
SAMPLE: Final = 50
AROUND: Final = 10
"""The members whose neighbours are read: the first of the sample that are in the period."""
BEYOND: Final = 3_000
"""Positions that a page of 100 may span, with what is read beyond it in the shortest of its lists."""
BESIDE: Final = 400
"""The same, of a page around a member."""
BEFORE: Final = MINUTE
"""How long ago the loaded members were written."""
Item = dict[str, Any]
EARLIER: Final = 13
"""Days before today of which something is stored: `late` as shipped, a day of reading, a margin, and days until TTL."""
WEEK: Final = 7
MOST_TIMES: Final = 3
"""A sum of two days of seven is at most so many times what was drawn."""
STILL_THERE: Final = 500
"""The members who are left when a busy day leaves the window."""
_PAIRS: Final = tuple(combinations(range(WEEK), 2))
ONE_DAY: Final = "one day"
TWO_OF_SEVEN: Final = "two days of seven"
JUST_LEFT: Final = "just left"
A_POINT_A_DAY: Final = "a point a day"


class RollingBoard:
    """A board with a rolling window, of which everything is loaded that the questions read."""

    def __init__(self, definition: str, window: str, life: str, count: int, offsets: Collection[int] = OFFSETS) -> None:
        self._now = NOON
        self.window = window
        metric = population.family(definition).metrics["points"]
        rng, days = Random(count), next(one.size for one in metric.windows if one.name == window)
        histories = LIVES[life](rng, count, days)
        periods = histories.scores(days, range(min(offsets), max(offsets) + 1))
        self.truths = {offset: MemberTruth(scores) for offset, scores in periods if offset in offsets}
        now, then = (self.truths[offset].by_number for offset in (0, 1))
        lasting = [number for number in range(count) if now[number] and then[number]]
        self.members = list(map(population.member, rng.sample(lasting, SAMPLE + MAX_MEMBERS)))
        self.board = Board(parse_boards(definition), clock=replace(still_clock(), now=lambda: self._now))
        chosen = self._near()
        loader = Loader(self.board.client, population.BOARD, metric, NOON)
        loader.load(histories, histories.of(chosen), offsets=offsets, log=_log(NOON // DAY, days))
        self.board.pipeline.catalog.register([population.BOARD])

    def at(self, now: int) -> None:
        self._now = now
        self.board.read_record()

    def ask(self, offset: int, *, named: bool = False) -> Questions:
        """Questions about a period; `named` if it is not the current one."""
        period = _day(offset) if named else None
        return Questions(self.board, self.truths[offset], Random(1), self.window, period)

    def _near(self) -> set[int]:
        """The members whose list items lie where the questions read, and the members that are asked for."""
        near = {number_of(name) for name in self.members}
        for truth in self.truths.values():
            middle = truth.total // 2
            near.update(truth.numbers(1, BEYOND), truth.numbers(middle - BEYOND, middle + BEYOND))
            present = [name for name in self.members if name in truth.scores]
            for number, name in enumerate(present[:SAMPLE]):
                position = truth.position(name)
                beside = BESIDE if number < AROUND else 1  # A page with `me` shows the entry before
                near.update(truth.numbers(position - beside, position + beside))
        return near


def _day(offset: int) -> str:
    """The day in which a period ends."""
    return f"2026-11-{21 + offset}"


def _log(today: int, days: int) -> Sequence[LogEntry]:
    """A log as long as a log may stay: members who moved, and moved back."""
    entries: list[LogEntry] = []
    size = 0
    rng = Random(1)
    while True:
        low = rng.randrange(1, 10_000_000)
        high = low + rng.randrange(1, 100)
        pair = [
            LogEntry(NOON, [CountChange(today, today + days, (-old,), (-new,))])
            for old, new in ((low, high), (high, low))
        ]
        size += sum(len(encode_entry(entry)) for entry in pair)
        if size > ROOM:
            return entries
        entries += pair


class Loader:
    """Loads a board as it is at an instant. The counts are those of all members; rows are there for some of them."""

    def __init__(self, client: Engine, board: str, metric: Metric, now: int) -> None:
        self._client = client
        self._board = board
        self._metric = metric
        self._now = now
        self._written_at = now - BEFORE

    def load(
        self,
        histories: "Histories",
        chosen: Mapping[int, Mapping[int, int]],
        *,
        offsets: Collection[int],
        log: Sequence[LogEntry] = (),
    ) -> None:
        """Load every window. The members in `chosen` get items and rows, by their sums of each age.

        Of rolling windows only the periods with these offsets get nodes, and of every tree those alone that lie on the
        way to the chosen members.
        """
        images = [self._image(number, sums) for number, sums in chosen.items()]
        self._client.load("Scores", map(encode_image, images))
        for window in self._metric.windows:
            if window.rolling:
                rankings = RollingRankings(self._board, self._metric, window)
                self._client.load("Rankings", self._log(rankings, log))
                self._client.load("Rankings", self._rolling_nodes(rankings, histories, images, offsets))
                self._client.load("Rankings", self._rolling_rows(rankings, images))
            else:
                self._client.load("Rankings", self._calendar(window, histories, images))

    def _image(self, number: int, sums: Mapping[int, int]) -> Image:
        metric = self._metric
        values = {metric.total(): sum(sums.values())}
        for unit in metric.bucket_codes:
            today = metric.timetable.index(unit, self._now)
            values |= {metric.bucket(unit, today - age): points for age, points in sums.items()}
        written = self._written_at
        return Image(self._board, member(number), written, written, values[metric.total()], hidden=False, values=values)

    def _calendar(self, window: Window, histories: "Histories", images: Sequence[Image]) -> Iterator[Item]:
        ranking = Ranking(self._board, self._metric, window, self._metric.timetable.current(window, self._now))
        trees = histories.nodes(1 if window.unit else None, {0: _on_the_way(ranking, images)})
        yield from self._nodes(ranking, trees[0], "v", ranking.readable_until)
        for image in images:
            if (found := place(image, ranking)) is not None:
                move = Move(ranking, image.member, None, found, image.version, image.written_at_ms)
                yield entry(ranking, move, ranking.readable_until)

    def _log(self, rankings: RollingRankings, entries: Iterable[LogEntry]) -> Iterator[Item]:
        texts = [encode_entry(entry) for entry in entries]
        yield {
            "pk": {"S": log_key(rankings.key, 0)},
            "b": {"N": str(self._written_at)},
            "l": {"L": [{"S": text} for text in texts]},
            "z": {"N": str(sum(map(len, texts)))},
            "n": {"NS": [str(self._metric.shards)]},
        }

    def _rolling_nodes(
        self, rankings: RollingRankings, histories: "Histories", images: Sequence[Image], offsets: Collection[int]
    ) -> Iterator[Item]:
        today = self._metric.timetable.index(rankings.unit, self._now)
        size = rankings.window.size
        trees = histories.nodes(size, {one: _on_the_way(rankings.at(today + one), images) for one in offsets})
        for offset, tree in trees.items():
            ranking = rankings.at(today + offset)
            yield from self._nodes(ranking, tree, "p0", rankings.readable_until(ranking.period))

    def _nodes(self, ranking: Ranking, tree: Tree, mark: str, until: int | None) -> Iterator[Item]:
        """Yield the nodes of a tree; the attribute `mark` says up to when they count."""
        return nodes(ranking, tree, {mark: self._written_at, "t": self._written_at} | expiry_of(until))

    def _rolling_rows(self, rankings: RollingRankings, images: Iterable[Image]) -> Iterator[Item]:
        for image in images:
            steps = steps_of(image, rankings, self._now)
            shift = Shift(rankings, image.member, (), steps, image.version, image.written_at_ms)
            yield row_item(shift, steps)
            # List items stay until TTL removes them, longer than the steps of rows.
            listed = steps_of(image, rankings, self._now - EXPIRY_MARGIN)
            for block, there in listed.by_block(rankings.window, listed.low).items():
                item = list_item(shift, block, there)
                if int(item["e"]["N"]) * SECOND > self._now:
                    yield item


def _on_the_way(ranking: Ranking, images: Iterable[Image]) -> set[Path]:
    """The nodes that a reader passes on the way to these members."""
    places = (place(image, ranking) for image in images)
    return {node for found in places if found is not None for node in prefixes(path(found.values))}


class Day(NamedTuple):
    """The members that were active on a day, by number, and the sum of each."""

    members: "array[int]"
    sums: "array[int]"


class Histories:
    """The days of all members. A day has an age: today's is 0, yesterday's 1."""

    def __init__(self, days: Mapping[int, Day], count: int) -> None:
        self.count = count
        self._days = days

    def of(self, numbers: Collection[int]) -> dict[int, dict[int, int]]:
        """The sums of some members by age."""
        wanted = frozenset(numbers)
        found: defaultdict[int, dict[int, int]] = defaultdict(dict)
        for age, (members, sums) in self._days.items():
            for number, amount in zip(members, sums, strict=True):
                if number in wanted:
                    found[number][age] = amount
        return found

    def totals(self) -> list[int]:
        """The sums of all members, by number, of everything that they did."""
        scores = [0] * self.count
        for age in self._days:
            self._add(scores, age, 1)
        return scores

    def scores(self, size: int, offsets: range) -> Iterator[tuple[int, list[int]]]:
        """The sums of all members, by number, in periods of so many days; each is changed into the next one.

        A period has an offset: that which ends today has 0.
        """
        scores = [0] * self.count
        for age in range(-offsets.start, size - offsets.start):
            self._add(scores, age, 1)
        for offset in offsets:
            yield offset, scores
            self._add(scores, size - 1 - offset, -1)
            self._add(scores, -1 - offset, 1)

    def nodes(self, size: int | None, ways: Mapping[int, Collection[Path]]) -> Mapping[int, Tree]:
        """Some nodes of the trees of periods of so many days, by offset; without a size, of everything.

        A node's parents are among them. A member whose sum is 0 was not active, and is in none.
        """
        if size is None:
            totals = self.totals()
            return {offset: _nodes_of(totals, wanted) for offset, wanted in ways.items()}
        periods = self.scores(size, range(min(ways), max(ways) + 1))
        return {offset: _nodes_of(scores, ways[offset]) for offset, scores in periods if offset in ways}

    def _add(self, scores: list[int], age: int, sign: int) -> None:
        if age in self._days:
            members, sums = self._days[age]
            for number, amount in zip(members, sums, strict=True):
                scores[number] += sign * amount


def _nodes_of(scores: Iterable[int], wanted: Collection[Path]) -> Tree:
    nodes: dict[Path, Counter[int]] = {node: Counter() for node in wanted}
    for score in filter(None, scores):
        digits = path((sort_value(score, descending=True),))
        for length, digit in enumerate(digits):
            if digits[:length] not in nodes:
                break
            nodes[digits[:length]][digit] += 1
    return nodes


def points(rng: Random) -> int:
    """Draw a log-normal score with a median of 4,000,000; few members share one, and no sum reaches 2^28."""
    while (drawn := max(1, round(rng.lognormvariate(15.2, 1.2)))) >= BOUND // MOST_TIMES:
        pass
    return drawn


def one_day(rng: Random, count: int, size: int) -> Histories:
    """Members who have all of their score of today."""
    del size
    return Histories({0: Day(array("L", range(count)), array("q", (points(rng) for _ in range(count))))}, count)


def two_of_seven(rng: Random, count: int, size: int) -> Histories:
    """Members active on two random days of every seven; their sums of so many days are about what is drawn.

    The days go back as far as anything is stored of them.
    """
    days = {age: Day(array("L"), array("q")) for age in range(size + EARLIER + MAX_SLAB)}
    for number in range(count):
        usual = points(rng) * WEEK / (2 * size)
        # Every member's weeks begin on a day of its own.
        for week in range(-int(rng.random() * WEEK), len(days), WEEK):
            for day in _PAIRS[int(rng.random() * len(_PAIRS))]:
                if week + day in days:
                    members, sums = days[week + day]
                    members.append(number)
                    sums.append(max(1, round(usual * (0.5 + rng.random()))))
    return Histories(days, count)


def just_left(rng: Random, count: int, size: int) -> Histories:
    """Members who were active on one day, which has just left the window; a few are still there, since today."""
    race, today = (Day(array("L"), array("q")) for _ in range(2))
    for number in range(count):
        members, sums = today if number < STILL_THERE else race
        members.append(number)
        sums.append(points(rng))
    return Histories({size: race, 0: today}, count)


def one_point_a_day(rng: Random, count: int, size: int) -> Histories:
    """Members who have one point a day, some since a few days: the steps of all are alike."""
    since = array("L", (1 + int(rng.random() * 3 * size) for _ in range(count)))
    days = {}
    for age in range(size + EARLIER + MAX_SLAB):
        active = array("L", (number for number, days_ago in enumerate(since) if days_ago > age))
        days[age] = Day(active, array("q", [1]) * len(active))
    return Histories(days, count)


LIVES: Final[Mapping[str, Callable[[Random, int, int], Histories]]] = {
    ONE_DAY: one_day,
    TWO_OF_SEVEN: two_of_seven,
    JUST_LEFT: just_left,
    A_POINT_A_DAY: one_point_a_day,
}
"""How members live, by what a table calls it."""
