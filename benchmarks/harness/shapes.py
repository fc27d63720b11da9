"""Large boards of a known shape, whose scores are drawn in descending order.

Member 0 is the first of the list, member N-1 its last.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from math import exp, log
from random import Random
from statistics import NormalDist
from typing import Final

from benchmarks.harness.population import BOUND

HIGHEST: Final = 1_000_000
MIDDLE: Final = 500_000
TIER: Final = 1_000
RARE: Final = 0.025
"""The share of members above the hot tier, and also the share below it."""
Scores = Sequence[int]
"""In descending order."""


def tied(count: int) -> Scores:
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
