"""What the members of a large board did on which days (`LIVES`)."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import combinations
from random import Random
from typing import Final, NamedTuple

from benchmarks.harness.population import BOUND, Tree
from standings.domain.scoring import sort_value
from standings.domain.tiers import Path, path
from standings.domain.windows import MAX_SLAB

EARLIER: Final = 13
"""Days before today of which something is stored: `late` as shipped, a day of reading, a margin, and days until TTL."""
WEEK: Final = 7
MOST_TIMES: Final = 3
"""A sum of two days of seven is at most so many times what was drawn."""
STILL_THERE: Final = 500
"""The members who are left when a busy day leaves the window."""
_PAIRS: Final = tuple(combinations(range(WEEK), 2))


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
        digits = path(sort_value(score, descending=True))
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


ONE_DAY: Final = "one day"
TWO_OF_SEVEN: Final = "two days of seven"
JUST_LEFT: Final = "just left"
A_POINT_A_DAY: Final = "a point a day"


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
