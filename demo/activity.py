"""Generates activity that resembles real data. The same seed and time give the same activity."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from random import Random

from demo import model
from demo.model import Event, Share

SPREAD = timedelta(days=40)
MAX_SHARES_OF_A_MEMBER = 100
MAX_SHARES_OF_AN_EVENT = 16
MAX_RUN_LENGTH = timedelta(hours=1)
"""The demo posts no event that would count in other periods this much earlier or later."""

_REGULARS = 0.3
_CORRECTIONS, _TOGETHER, _DELAYED, _REPEATED = 0.01, 0.6, 0.1, 0.05
_POINTS = (1, 1, 1, 1, 2, 2, 3, 3, 5, 5, 8, 10, 10, 13, 20, 25, 50, 100)
_OFFSETS = (UTC, UTC, UTC, timezone(timedelta(hours=2)), timezone(-timedelta(hours=7, minutes=30)))
_FIRST = ("amber", "brisk", "calm", "dusty", "eager", "fuzzy", "gentle", "hasty", "idle", "jolly")
_LAST = ("otter", "heron", "lynx", "finch", "badger", "marten", "stoat", "wren", "vole", "crane")
_FOREIGN = ("用户", "игрок", "joueur·é", "🦦", "oyuncu ğ", "clan#", "images/", "a b&c=%2F+")

_Done = tuple[datetime, Share]


@dataclass(frozen=True, slots=True)
class Activity:
    """Events, each once, and the messages that deliver them. Some messages are late and some are duplicates."""

    members: tuple[str, ...]
    events: tuple[Event, ...]
    messages: tuple[str, ...]

    @property
    def duplicates(self) -> int:
        """The number of duplicate messages."""
        return len(self.messages) - len(self.events)


def generate(seed: int, board: str, now: datetime, members: int) -> Activity:
    """Generate the activity of some members in the 40 days before `now`.

    A few members are very active, many have one event, and many are tied. Activity comes in bursts, by day more often
    than by night, and more in recent weeks. Some events have several members. Some messages are very late, and some are
    duplicates with another JSON text.
    """
    rng = Random(seed)
    names = _names(rng, members)
    done = [(at, Share(name, _points(rng))) for name in names for at in _moments(rng, now.replace(microsecond=0))]
    events = tuple(_gather(rng, sorted(done, key=lambda one: one[0])))
    return Activity(tuple(names), events, tuple(_deliver(rng, board, events)))


def message(rng: Random, board: str, event: Event) -> str:
    """Encode an event as JSON, with a random notation that does not change its meaning."""
    at = event.at.astimezone(rng.choice(_OFFSETS))
    text = at.isoformat(timespec="milliseconds" if at.microsecond else "seconds")
    shares = [{"board": board, "member": share.member, "metrics": {"points": share.points}} for share in event.shares]
    content = shares[0] if len(shares) == 1 else {"updates": shares}
    fields = [("id", event.id), ("at", text.replace("+00:00", "Z")), *content.items()]
    rng.shuffle(fields)
    return json.dumps(dict(fields), ensure_ascii=rng.choice((True, False)))


def identifier(rng: Random) -> str:
    """Return a random id for an event."""
    return f"{rng.getrandbits(96):024x}"


def _names(rng: Random, count: int) -> list[str]:
    return [
        f"{rng.choice(_FIRST)}-{rng.choice(_LAST)}-{number}" if number % 25 else f"{rng.choice(_FOREIGN)}{number}"
        for number in range(1, count + 1)
    ]


def _moments(rng: Random, now: datetime) -> Iterator[datetime]:
    """Yield the times at which a member was active: at least one, in bursts of some minutes."""
    regular = rng.random() < _REGULARS
    count = min(MAX_SHARES_OF_A_MEMBER, int(rng.paretovariate(1.25))) if regular else 1
    made = 0
    while made < count:
        at = _start(rng, now)
        for _ in range(min(count - made, 1 + int(rng.expovariate(0.4)))):
            at = min(at + timedelta(milliseconds=rng.randrange(250, 900_000, 250)), now)
            if model.acceptance_is_settled(at, now, MAX_RUN_LENGTH):
                yield at
                made += 1


def _start(rng: Random, now: datetime) -> datetime:
    """Return a time in the last weeks: recent times are more likely, nights less."""
    while True:
        at = now - SPREAD * math.pow(rng.random(), 1.3)
        rhythm = 0.55 - 0.45 * math.cos((at.hour - 4) / 24 * 2 * math.pi)
        if rng.random() < rhythm:
            return at.replace(microsecond=0)


def _points(rng: Random) -> int:
    points = rng.choice(_POINTS)
    return -points if rng.random() < _CORRECTIONS else points


def _gather(rng: Random, done: list[_Done]) -> Iterator[Event]:
    """Make events of the shares: of one share, or of several that follow one another."""
    rest = iter(done)
    for at, share in rest:
        shares = [share]
        if rng.random() < _TOGETHER:
            others = rng.randrange(1, MAX_SHARES_OF_AN_EVENT)
            shares += [other for _, (_, other) in zip(range(others), rest, strict=False)]
        yield Event(identifier(rng), at, tuple(shares))


def _deliver(rng: Random, board: str, events: tuple[Event, ...]) -> list[str]:
    """Return the messages by time of arrival. Some are late, and some are duplicates."""
    arrivals = []
    for event in events:
        delay = SPREAD * rng.random() if rng.random() < _DELAYED else timedelta()
        arrivals.append((event.at + delay, message(rng, board, event)))
        if rng.random() < _REPEATED:
            again = delay + timedelta(hours=1) * rng.expovariate(0.1)
            arrivals.append((event.at + again, message(rng, board, event)))
    return [text for _, text in sorted(arrivals)]
