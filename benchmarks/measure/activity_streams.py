"""Streams of activity: made ones of known kinds, or one of your own from a file."""

import csv
import gzip
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

DAY: Final = 86_400
DAYS: Final = 7


class Event(NamedTuple):
    """One activity: its second and its member."""

    at: int
    member: int | str


Stream = Sequence[Event]


def daily(rng: Random, members: int) -> list[Event]:
    """Every member once a day, at a random time."""
    return [Event(day * DAY + rng.randrange(DAY), member) for day in range(DAYS) for member in range(members)]


def sessions(rng: Random, members: int) -> list[Event]:
    """Every day a third of the members play for twenty minutes, with about one activity a minute."""
    events = []
    for day in range(DAYS):
        for member in rng.sample(range(members), members // 3):
            at = day * DAY + rng.randrange(DAY - 7200)
            for _ in range(20):
                at += 1 + round(rng.expovariate(1 / 60))
                events.append(Event(at, member))
    return events


def views(rng: Random, members: int) -> list[Event]:
    """On average twenty views a day for each member; a few members have most of them (Zipf)."""
    weights = [1 / (place + 1) for place in range(members)]
    chosen = rng.choices(range(members), weights, k=20 * members * DAYS)
    return [Event(rng.randrange(DAYS * DAY), member) for member in chosen]


STREAMS: Final[dict[str, Callable[[Random, int], list[Event]]]] = {
    "once a day": daily,
    "sessions": sessions,
    "views": views,
}


def read_stream(path: Path) -> list[Event]:
    """Read a CSV file, gzipped or not, with the columns `epoch_seconds` and `member`."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        return [Event(int(row["epoch_seconds"]), row["member"]) for row in csv.DictReader(lines)]
