"""Large boards of a known shape, whose scores are drawn in order: a list is sorted as soon as it is made.

Member 0 is the first of the list and the last number its last: nothing has to be sorted or searched for what is right,
also of ten million. The tiers count everyone; entries are only put in place where they are asked for.
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
from standings.aws.dynamodb.keys import counter_name, node_key
from standings.aws.dynamodb.rankings.ranking_actions import entry_action
from standings.domain.boards.ranking import Ranking
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import Place, sort_value
from standings.domain.tiers.tier_path import FANOUT, Path, path
from tests.support.dynamodb.engine import Engine

HIGHEST: Final = 1_000_000
MIDDLE: Final = 500_000
TIER: Final = 1_000
RARE: Final = 0.025
"""The share of members above the hot tier, and of those below it."""
Scores = Sequence[int]
"""From the highest to the lowest."""


def tied(count: int) -> Scores:
    """All equal."""
    return array("q", [MIDDLE]) * count


def uniform(count: int) -> Scores:
    """From 1 to 1,000,000, each as likely."""
    return array("q", (1 + int(share * HIGHEST) for share in _shares(count)))


def lognormal(count: int) -> Scores:
    """A median of some 4,000,000 and all below 2^28: few share a score."""
    return _lognormal(NormalDist(15.2, 1.2), count)


def points(count: int) -> Scores:
    """The same with a median of 400: many share a score, and a step of some points goes within a tier or two."""
    return _lognormal(NormalDist(5.99, 1.2), count)


def hot(count: int) -> Scores:
    """95 of 100 members within one range of 1,000 scores, in the middle of others as in `uniform`."""

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
    """So many numbers between 0 and 1, drawn evenly, from the highest to the lowest.

    Sums of exponential steps, divided by the last, are as sorted draws are: nothing has to be sorted.
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
    """Which member a name is: the inverse of `population.member`."""
    return int(name.removeprefix("member-"))


class Names(Sequence[str]):
    """The names of so many members, none of them kept."""

    def __init__(self, numbers: range) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        found = self._numbers[index]
        return Names(found) if isinstance(found, range) else member(found)


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
    """A list that was made sorted (`Truth`)."""

    def __init__(self, scores: Scores) -> None:
        self.scores = ByName(scores)
        self.order = Names(range(len(scores)))  # type: ignore[assignment]
        self._behind = array("q", map(neg, scores))  # type: ignore[assignment]
        self._distinct = []

    def position(self, name: str) -> int:
        """Where a member stands: as its name says."""
        return number_of(name) + 1


def tiers(scores: Scores) -> dict[Path, Counter[int]]:
    """Every counter of the tiers of scores of 1 and more, leaf by leaf."""
    nodes: defaultdict[Path, Counter[int]] = defaultdict(Counter)
    for _, leaf in groupby(scores, key=lambda score: score // FANOUT):
        counts = Counter(leaf)
        # Within a leaf digits go with the list, one for each score.
        first = next(iter(counts))
        way = path(sort_value(first, descending=True))
        nodes[way[:-1]].update({way[-1] + first - score: count for score, count in counts.items()})
        for length in range(len(way) - 1):
            nodes[way[:length]][way[length]] += counts.total()
    return nodes


def place(client: Engine, ranking: Ranking, scores: Scores, entries: Iterable[int]) -> None:
    """Put in place the tiers that count everybody, and the entries of some members by number."""
    version, written_at_ms = {"N": str(NOW)}, {"N": str(NOW)}

    def nodes() -> Iterator[dict[str, Any]]:
        for way, counters in tiers(scores).items():
            named = {"n": {"NS": [str(ranking.metric.shards)]}} if not way and ranking.metric.shards > 1 else {}
            counted = {counter_name(digit): {"N": str(count)} for digit, count in counters.items()}
            yield {"pk": {"S": node_key(ranking, way)}, "t": written_at_ms, "v": version, **named, **counted}

    client.load("Rankings", nodes())
    client.load("Rankings", (_entry(ranking, number, scores[number]) for number in sorted(set(entries))))


def _entry(ranking: Ranking, number: int, score: int) -> dict[str, Any]:
    move = Move(ranking, member(number), None, Place(sort_value(score, descending=True)), 1, NOW)
    item: dict[str, Any] = entry_action("Rankings", ranking, move, None)["Put"]["Item"]
    return item
