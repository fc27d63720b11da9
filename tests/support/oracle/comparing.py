"""Compares every read of a board over HTTP with the judge, a `BoardModel`. Call `compare_every_read`.

    model = BoardModel({"points": Metric(windows=("all", "day"))}, Calendar(zone=BERLIN))
    ...  # send the same events to the model and to the stack, and project them all
    compare_every_read(stack, model, "b", now, random.Random(seed))

It only reads, as a client does, so a test can call it at any time and any number of times. For every ranked metric and
window it compares the current period and one earlier period that can be read. It compares whole lists by every ranking
method, and a random sample of all other reads. At the first difference it raises an AssertionError. That gives the
request, the answer of the judge and the answer of the product.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Final

from tests.support.aws.stack import Stack
from tests.support.oracle.asked import Asked
from tests.support.oracle.compare_lists import (
    compare_around,
    compare_list,
    compare_me,
    compare_notes,
    compare_positions,
)
from tests.support.oracle.compare_members import compare_members
from tests.support.oracle.compare_numbers import (
    compare_distribution,
    compare_gone,
    compare_group,
    compare_history,
    compare_percentiles,
    compare_ranks,
    compare_scores,
)
from tests.support.oracle.listing import METHODS, Listing
from tests.support.oracle.model import BoardModel

Read = Callable[[Asked, str], None]
"""Compares one kind of read of a ranking, by one ranking method."""


def compare_every_read(
    stack: Stack,
    model: BoardModel,
    board: str,
    now: datetime,
    rng: random.Random,
    *,
    reads: Sequence[Read] | None = None,
    methods: Sequence[str] = METHODS,
    members: bool = True,
    most: int | None = None,
) -> None:
    """Compare every read of a board at the instant `now`, the time of the stack's clock.

    - `reads` and `methods` restrict the comparison to some kinds of reads and some ranking methods.
    - `members` says whether to compare the board's answers about each member too.
    - `most` limits the comparison to so many rankings, which `rng` chooses.
    """
    for ranking in rankings(stack, model, board, now, rng, most):
        for method in methods:
            compare_list(ranking, method)
        for read in READS if reads is None else reads:
            read(ranking, rng.choice(methods))
    if members:
        compare_members(stack, model, board, now, rng, methods)


def rankings(
    stack: Stack, model: BoardModel, board: str, now: datetime, rng: random.Random, most: int | None = None
) -> Iterator[Asked]:
    """Yield every ranking of a board for the current and one earlier readable period, or `most` of these."""
    periods: list[tuple[str, str, datetime]] = []
    for metric, rules in model.metrics.items():
        for window in rules.windows:
            if window != "all" and not model.calendar.held(window, now):
                Asked(stack, model, board, metric, window, now, now, rng, Listing([], descending=True)).refused(
                    "no-season-yet", method=METHODS[0]
                )
                continue
            periods.append((metric, window, now))
            earlier = list(model.calendar.earlier(window, now))
            if earlier:
                # Prefer the period that just ended: late events still change it.
                periods.append((metric, window, rng.choice([earlier[0], rng.choice(earlier)])))
    for metric, window, on in periods if most is None else rng.sample(periods, min(most, len(periods))):
        yield Asked(stack, model, board, metric, window, on, now, rng, model.listing(metric, window, on))


READS: Final[tuple[Read, ...]] = (
    compare_positions,
    compare_around,
    compare_me,
    compare_notes,
    compare_ranks,
    compare_group,
    compare_history,
    compare_scores,
    compare_percentiles,
    compare_distribution,
    compare_gone,
)
