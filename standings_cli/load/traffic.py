"""Random activity for load tests; the same seed gives the same activity."""

from bisect import bisect
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Final, NamedTuple

REPEATED_WITHIN: Final = 1_000  # a duplicate repeats one of this many activities before it


@dataclass(frozen=True, slots=True)
class Plan:
    """The shape of the activity.

    Member k is as active as 1 / k^`skew`; with 0 all are equally active. `duplicates` and `late` are shares of what is
    sent: repeated events, and events that happened up to `late_by` milliseconds before. Amounts are whole numbers from
    `least` to `most`.
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
    """What a member did, `behind` milliseconds before it is due. A duplicate has the number of the original."""

    number: int
    board: str
    member: str
    amount: int
    behind: int


def activities(plan: Plan, rng: Random) -> Iterator[Activity]:
    """Return activity without end."""
    weights = list(accumulate(rank**-plan.skew for rank in range(1, plan.members + 1)))
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
            f"member-{min(bisect(weights, rng.random() * weights[-1]), plan.members - 1) + 1}",
            rng.randint(plan.least, plan.most),
            rng.randint(1, plan.late_by) if late else 0,
        )
        recent.append(activity)
        number += 1
        yield activity
