"""Made-up activity for load tests, the same for the same seed."""

from bisect import bisect
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Final, NamedTuple

REPEATED_WITHIN: Final = 1_000
"""Activities back of which one may come again."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the activity is like.

    Of the members the k-th is as active as 1 / k^`skew`; 0 makes all alike. `duplicates` and `late` are shares of all
    that is sent: what was sent before, and what happened up to `late_by` milliseconds before. Amounts are whole numbers
    from `least` to `most`.
    """

    boards: Sequence[str]
    members: int
    skew: float
    duplicates: float
    late: float
    late_by: int
    least: int
    most: int


class Activity(NamedTuple):
    """Something that a member did `behind` milliseconds before it was due. One that comes again has the same number."""

    number: int
    board: str
    member: str
    amount: int
    behind: int


def activities(plan: Plan, rng: Random) -> Iterator[Activity]:
    """Activity without end."""
    ahead = list(accumulate(rank**-plan.skew for rank in range(1, plan.members + 1)))
    recent: deque[Activity] = deque(maxlen=REPEATED_WITHIN)
    number = 0
    while True:
        kind = rng.random()
        if kind < plan.duplicates and recent:
            yield rng.choice(recent)
            continue
        late = kind >= 1 - plan.late
        activity = Activity(
            number,
            rng.choice(plan.boards),
            f"member-{min(bisect(ahead, rng.random() * ahead[-1]), plan.members - 1) + 1}",
            rng.randint(plan.least, plan.most),
            rng.randint(1, plan.late_by) if late else 0,
        )
        recent.append(activity)
        number += 1
        yield activity
