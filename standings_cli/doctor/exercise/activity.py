"""The events that an exercise posts: some late, some doubled, some of several members, one that is refused at first."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Final

from standings_cli.doctor.exercise.rules import Rules
from standings_cli.doctor.exercise.sorting import Event

MEMBERS: Final = 300
EVENTS: Final = 2_000
AHEAD: Final = timedelta(minutes=5)
"""How far ahead of the writer's clock an event may be."""
TOO_FAR_AHEAD: Final = AHEAD + timedelta(seconds=45)
"""How far ahead the event is that is refused at first, and counts when it is replayed."""

_MOST_LATE: Final = timedelta(hours=20)
_LATE, _DOUBLED, _TOGETHER = 0.3, 0.1, 0.1
_MOST_TOGETHER: Final = 5
_AMOUNTS: Final = (1, 1, 1, 2, 2, 3, 5, 8, 13, 20, 50, 100)


@dataclass(frozen=True, slots=True)
class Activity:
    """Events, each once, and the messages that deliver them, some of them twice."""

    events: tuple[Event, ...]
    messages: tuple[str, ...]


def activity(rules: Rules, rng: Random, now: datetime) -> Activity:
    """Draw the activity of some members before `now`. A few of them are very active, many are tied."""
    latest = min(rules.late / 2, _MOST_LATE)
    events = tuple(_event(f"{rules.board}-{number}", rng, now, latest) for number in range(EVENTS))
    messages = [message(event, rules) for event in events]
    messages += rng.sample(messages, round(_DOUBLED * EVENTS))
    rng.shuffle(messages)
    return Activity(events, tuple(messages))


def message(event: Event, rules: Rules) -> str:
    """An event as the body of a message."""
    metrics = {metric.name: metric.within(event.amount) for metric in rules.metrics}
    shares = [{"board": rules.board, "member": member, "metrics": metrics} for member in event.members]
    content = shares[0] if len(shares) == 1 else {"updates": shares}
    return json.dumps({"id": event.id, "at": event.at.isoformat(), **content})


def probes(rules: Rules, count: int) -> Iterator[str]:
    """The members of events that are posted one by one, to see how soon each has its rank."""
    return (f"probe-{number}-of-{rules.board}" for number in range(count))


def _event(name: str, rng: Random, now: datetime, latest: timedelta) -> Event:
    late = latest * rng.random() if rng.random() < _LATE else timedelta()
    at = (now - late).replace(microsecond=0)
    together = rng.randint(2, _MOST_TOGETHER) if rng.random() < _TOGETHER else 1
    # The lower of two numbers is the more likely, so the first members are the most active.
    members = {f"member-{min(rng.randrange(MEMBERS), rng.randrange(MEMBERS))}" for _ in range(together)}
    return Event(name, at, tuple(sorted(members)), rng.choice(_AMOUNTS))
