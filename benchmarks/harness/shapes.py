"""Large boards of a known shape, whose scores are drawn in descending order.

Member 0 is the first of the list, member N-1 its last. So the right answers need no sorting and no search, even with
ten million members. The tiers count all members; the caller names the members that get entries.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from math import exp, log
from operator import neg
from random import Random
from statistics import NormalDist
from typing import Any, Final, overload

from benchmarks.harness.population import BOUND, NOW, member
from benchmarks.harness.truth import Truth
from standings.aws.dynamodb.keys import COUNTERS, node_key
from standings.aws.dynamodb.rankings.rankings import entry_action
from standings.domain.boards.definitions import Ranking
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import Place, sort_value
from standings.domain.tiers.tier_path import FANOUT, Path, path
from tests.support.dynamodb.engine import Engine

HIGHEST: Final = 1_000_000
MIDDLE: Final = 500_000
TIER: Final = 1_000
RARE: Final = 0.025
"""The share of members above the hot tier, and also the share below it."""
Scores = Sequence[int]
"""In descending order."""


def tied(count: int) -> Scores:
    """Return equal scores."""
    return array("q", [MIDDLE]) * count


def uniform(count: int) -> Scores:
    """Draw scores from 1 to 1,000,000, all equally likely."""
    return array("q", (1 + int(share * HIGHEST) for share in _shares(count)))


def lognormal(count: int) -> Scores:
    """Draw log-normal scores with a median of 4,000,000, all below 2^28; few members share a score."""
    return _lognormal(NormalDist(15.2, 1.2), count)


def points(count: int) -> Scores:
    """Draw log-normal scores with a median of 400; many members share a score, and steps cross few tiers."""
    return _lognormal(NormalDist(5.99, 1.2), count)


def hot(count: int) -> Scores:
    """Draw 95 of 100 scores from a range of 1,000 in the middle, the others as in `uniform`."""

    def score(share: float) -> int:
        if share < RARE:
            return 1 + int(share / RARE * (MIDDLE - 1))
        if share < 1 - RARE:
            return MIDDLE + int((share - RARE) / (1 - 2 * RARE) * TIER)
        return MIDDLE + TIER + int((share - 1 + RARE) / RARE * (MIDDLE - TIER))

    return array("q", map(score, _shares(count)))


def _lognormal(normal: NormalDist, count: int) -> Scores:
    below = normal.cdf(log(BOUND - 1))
    quantile = normal.inv_cdf
    return array("q", (max(1, int(exp(quantile(below * share)))) for share in _shares(count)))


def _shares(count: int) -> Iterator[float]:
    """Draw uniform numbers between 0 and 1 in descending order.

    Partial sums of exponential steps, divided by the last sum, have the distribution of sorted uniform draws.
    """
    rng = Random(count)
    sums = array("d", accumulate(rng.expovariate(1.0) for _ in range(count + 1)))
    return (1.0 - sums[number] / sums[-1] for number in range(count))


SHAPES: Final[dict[str, Callable[[int], Scores]]] = {
    "tied": tied,
    "uniform": uniform,
    "log-normal": lognormal,
    "one hot tier": hot,
}


def number_of(name: str) -> int:
    """Return the number of a member; the inverse of `population.member`."""
    return int(name.removeprefix("member-"))


class Names(Sequence[str]):
    """The names of numbered members, made when they are read."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return Names(self._numbers[index])
        return member(self._numbers[index])


class ByName(Mapping[str, int]):
    """The scores of members by name."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores

    def __getitem__(self, name: str) -> int:
        return self._scores[number_of(name)]

    def __iter__(self) -> Iterator[str]:
        return map(member, range(len(self._scores)))

    def __len__(self) -> int:
        return len(self._scores)


class Sorted(Truth):
    """The right answers (`Truth`) about scores in descending order."""

    def __init__(self, scores: Scores) -> None:
        self.scores = ByName(scores)
        self.order = Names(range(len(scores)))  # type: ignore[assignment]
        self._behind = array("q", map(neg, scores))  # type: ignore[assignment]
        self._distinct = []

    def position(self, name: str) -> int:
        """Return a member's position: its number plus 1."""
        return number_of(name) + 1


def tiers(scores: Scores) -> dict[Path, Counter[int]]:
    """Return the counters of all tiers by node; every score must be at least 1."""
    nodes: defaultdict[Path, Counter[int]] = defaultdict(Counter)
    for _, leaf in groupby(scores, key=lambda score: score // FANOUT):
        counts = Counter(leaf)
        # In a leaf the digit is one higher for the next lower score.
        first = next(iter(counts))
        digits = path(sort_value(first, descending=True))
        nodes[digits[:-1]].update({digits[-1] + first - score: count for score, count in counts.items()})
        for length in range(len(digits) - 1):
            nodes[digits[:length]][digits[length]] += counts.total()
    return nodes


def place(client: Engine, ranking: Ranking, scores: Scores, entries: Iterable[int]) -> None:
    """Load the tiers that count all members, and the entries of the members with these numbers."""
    version, written_at_ms = {"N": str(NOW)}, {"N": str(NOW)}

    def nodes() -> Iterator[dict[str, Any]]:
        for node, counters in tiers(scores).items():
            named = {"n": {"NS": [str(ranking.metric.shards)]}} if not node and ranking.metric.shards > 1 else {}
            counted = {COUNTERS[digit]: {"N": str(count)} for digit, count in counters.items()}
            yield {"pk": {"S": node_key(ranking.key, node)}, "t": written_at_ms, "v": version, **named, **counted}

    client.load("Rankings", nodes())
    client.load("Rankings", (_entry(ranking, number, scores[number]) for number in sorted(set(entries))))


def _entry(ranking: Ranking, number: int, score: int) -> dict[str, Any]:
    move = Move(ranking, member(number), None, Place(sort_value(score, descending=True)), 1, NOW)
    item: dict[str, Any] = entry_action("Rankings", ranking, move, None)["Put"]["Item"]
    return item
