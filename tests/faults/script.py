"""What happens in a schedule: its boards, its events, and when members are hidden, removed and registered again.

Events come in bursts of some seconds, with gaps of seconds to hours between them. One gap lasts days, so that the
writer removes old accumulators.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any, Final

import orjson

from tests.support.machine.boards import BERLIN, Board, whole
from tests.support.oracle.model import Calendar, Metric

from .clockwork import DAY, HOUR, MINUTE, SECOND
from .judge import EPOCH, Edit, Merge, Sent

if TYPE_CHECKING:
    from .world import World


# ---- boards

LEAGUE = "league"
CLANS = "clans"
CUP = "cup"
"""A board that only the later definition has."""
NARROW = "last-2-days"
A_DAY = timedelta(days=1)
HALF_AN_HOUR = timedelta(minutes=30)


@dataclass(frozen=True)
class Family(Board):
    """One family of `boards.toml`, which here is one board."""

    name: str = LEAGUE
    shards: int = 1

    def text(self) -> str:
        return self.toml(self.name, self.shards)

    def with_rolling(self, window: str) -> "Family":
        """Return the family with another rolling window in place of `NARROW`."""
        metrics = {
            name: replace(metric, windows=tuple(window if each == NARROW else each for each in metric.windows))
            for name, metric in self.metrics.items()
        }
        return replace(self, metrics=metrics)

    @property
    def ranked(self) -> set[tuple[str, str]]:
        """Pairs of a metric and a window in which it is ranked."""
        return {(name, window) for name, metric in self.metrics.items() for window in metric.windows}


@dataclass(frozen=True)
class Shape:
    """The boards of a schedule. `later` holds them after a deployment; it is empty if there is no deployment."""

    families: tuple[Family, ...]
    later: tuple[Family, ...] = field(default=())
    width: float = 0
    """A number from 0 to 1 that decides how wide the rolling window may be."""

    def wider(self, fault_rate: float) -> "Shape":
        """Return the shape with a wider rolling window, for some shapes.

        A change of a wider window takes more calls. If too many fail, no batch ever comes to its end.
        """
        if self.width > 0.85 and fault_rate <= 0.05:
            return self._with("last-30-days")
        return self._with("last-7-days") if self.width > 0.7 and fault_rate <= 0.1 else self

    def _with(self, window: str) -> "Shape":
        families, later = ([each.with_rolling(window) for each in some] for some in (self.families, self.later))
        return replace(self, families=tuple(families), later=tuple(later))

    @property
    def text(self) -> str:
        return "\n".join(family.text() for family in self.families) + "\n"

    @property
    def later_text(self) -> str:
        return "\n".join(family.text() for family in self.later or self.families) + "\n"

    @property
    def all_families(self) -> tuple[Family, ...]:
        """The families of the first definition, then those that only the later one has."""
        names = {family.name for family in self.families}
        return (*self.families, *(family for family in self.later if family.name not in names))

    def common(self, board: str) -> set[tuple[str, str]]:
        """Return the pairs of metric and window that every definition of a board ranks."""
        ranked = [
            family.ranked for families in (self.families, self.later) for family in families if family.name == board
        ]
        return set.intersection(*ranked)


def shape(rng: Random, *, changed: bool) -> Shape:
    """Draw boards. Each league has a calendar and a rolling window; other features are drawn at random."""
    width = rng.random()
    hours = width < 0.2
    windows = ("all", "hour", "last-2-hours") if hours else ("all", "day", NARROW)
    points = Metric("sum", windows=windows, ties=rng.choice(["member", "member", "first"]))
    metrics = {"points": points}
    other = rng.choice(["", "", "best", "latest", "unranked"])
    if other == "best":
        best = rng.choice(["max", "min"])
        metrics["best"] = Metric(
            best, windows=("all", windows[1]), descending=best == "max", ties=rng.choice(["member", "first"])
        )
    elif other == "latest":
        metrics["latest"] = Metric("last", windows=("all",))
    elif other == "unranked":
        metrics["runs"] = Metric("sum", windows=())
    zone = rng.choice([BERLIN, UTC])
    late = HALF_AN_HOUR if hours else rng.choice([timedelta(hours=2), A_DAY])
    keep = HALF_AN_HOUR if hours else rng.choice([A_DAY, timedelta(hours=36)])
    of_a_day = Calendar(zone, late=A_DAY, keep=A_DAY)
    league = Family(
        metrics, Calendar(zone, late=late, keep=keep), registered=rng.random() < 0.2, shards=rng.choice([1, 1, 1, 2])
    )
    clans = Family(
        {"points": Metric("sum", windows=("all", "day") if rng.random() < 0.4 else ("all",))}, of_a_day, name=CLANS
    )
    if not changed:
        return Shape((league, clans), width=width)
    added = rng.choice(["last-3-days", "week", "day", "month"])
    wider = {
        name: replace(metric, windows=(*metric.windows, added))
        if added not in metric.windows and metric.windows
        else metric
        for name, metric in metrics.items()
    }
    if rng.random() < 0.5:
        wider["extra"] = Metric("sum", windows=("all", "day"))
    if rng.random() < 0.3 and not hours:
        wider["points"] = replace(wider["points"], windows=tuple(w for w in wider["points"].windows if w != NARROW))
    later = [replace(league, metrics=wider), clans]
    if rng.random() < 0.6:
        later.append(Family({"points": Metric("sum", windows=("all", "day"))}, of_a_day, name=CUP))
    return Shape((league, clans), tuple(later), width)


# ---- breaking ties


def with_tie_breaks(shape: Shape, seed: int) -> Shape:
    """Return a shape whose league has one to three tie-breaks of its points, of each aggregate and in both orders."""
    rng = Random(f"ties {seed}")
    named = tuple(rng.sample(("lost", "high", "level"), rng.randint(1, 3)))
    breaking = {
        "lost": Metric("sum", descending=rng.random() < 0.5, windows=rng.choice([(), ("all",)])),
        "high": Metric("max", descending=rng.random() < 0.5, windows=()),
        "level": Metric("last", descending=False, windows=()),
    }
    best, with_day = rng.choice(["max", "min", "last"]), rng.random() < 0.5
    load = Metric(best, descending=rng.random() < 0.5, windows=(), kept_with="peak")

    def tied(family: Family) -> Family:
        if family.name != LEAGUE:
            return family
        points = replace(family.metrics["points"], tie_breaks=named)
        rolling = (NARROW,) if NARROW in points.windows and with_day else ()
        peak = Metric(best, ties=points.ties, windows=("all", points.windows[1], *rolling), tie_breaks=("load",))
        return replace(family, metrics={**family.metrics, **breaking, "points": points, "peak": peak, "load": load})

    return replace(shape, families=tuple(map(tied, shape.families)), later=tuple(map(tied, shape.later)))


# ---- people


def with_ranked_from(shape: Shape, seed: int) -> Shape:
    """Return a shape whose league ranks its metrics, or some of them, from a score on."""
    rng = Random(f"ranked {seed}")
    ranked_from = {name: rng.choice([None, -1, 0, 1, 2, 127]) for name in ("points", "best", "latest", "extra")}

    def ranked(family: Family) -> Family:
        metrics = {
            name: replace(metric, ranked_from=ranked_from.get(name) if metric.windows else None)
            for name, metric in family.metrics.items()
        }
        return replace(family, metrics=metrics) if family.name == LEAGUE else family

    return replace(shape, families=tuple(map(ranked, shape.families)), later=tuple(map(ranked, shape.later)))


# ---- boards that end


def with_ends(shape: Shape, seed: int) -> Shape:
    """Return a shape whose league ends some days after it began, and maybe its clans. Some leagues settle their days.

    A deployment does not change that.
    """
    rng = Random(f"ends {seed}")
    lasts = {
        name: timedelta(hours=rng.choice([0, rng.randint(0, 48), rng.randint(0, 120)])) for name in (LEAGUE, CLANS)
    }
    settles = rng.random() < 0.5 and ("points", "day") in shape.common(LEAGUE)
    are_clans = rng.random() < 0.5

    def ending(family: Family) -> Family:
        if family.name == CUP or (family.name == CLANS and not are_clans):
            return family
        settle = ("day",) if settles and family.name == LEAGUE else ()
        late = family.calendar.late
        keep = max(family.calendar.keep, late + timedelta(days=2)) if settle else family.calendar.keep
        least = late + timedelta(days=2 + len(settle))
        calendar = replace(family.calendar, keep=keep)
        return replace(family, calendar=calendar, expires=least + lasts[family.name], settle=settle)

    return replace(shape, families=tuple(map(ending, shape.families)), later=tuple(map(ending, shape.later)))


# ---- notes

Updates = dict[tuple[str, str], dict[str, int]]


def with_notes(shape: Shape) -> Shape:
    """Return a shape whose league has metrics that keep notes, of each aggregate that can."""
    return replace(shape, families=tuple(map(_with_notes, shape.families)), later=tuple(map(_with_notes, shape.later)))


def _with_notes(family: Family) -> Family:
    if family.name != LEAGUE:
        return family
    rolling = (NARROW,) if "day" in family.metrics["points"].windows else ()
    noted = {
        "best": Metric("max", windows=("all", "day", *rolling), ties="first", notes=True),
        "worst": Metric("min", windows=("all", "day"), descending=False, notes=True),
        "latest": Metric("last", windows=("all", "day"), notes=True),
    }
    return replace(family, metrics={**family.metrics, **noted})


SUMS: Final = frozenset({"points", "runs", "extra"})


class Notes:
    """Draws the notes of one schedule's events, and which of them set totals, or `bests` too."""

    def __init__(self, shape: Shape, seed: int, *, bests: bool) -> None:
        self._rng = Random(f"notes {seed}")
        self._settable = SUMS | {"best", "worst"} if bests else SUMS
        (league,) = (family for family in shape.families if family.name == LEAGUE)
        self._noted = {name for name, metric in league.metrics.items() if metric.notes}

    def sent(self, event_id: str, at: datetime, updates: Updates, *, good: bool) -> Sent:
        """Return an event with its body, with notes where a metric keeps them.

        Where there are notes, many events have the same `at`, so that the id decides which of equals keeps its note.
        """
        if self._noted:
            at = at.replace(second=at.second // 10 * 10, microsecond=0)
        notes = self._drawn(updates)
        settable = [key for key, amounts in updates.items() if amounts.keys() <= self._settable]
        sets = frozenset(key for key in settable if self._noted and good and self._rng.random() < 0.5)
        shares = [
            {
                "board": board,
                "member": member,
                "metrics": amounts,
                **({"set": True} if (board, member) in sets else {}),
                **({"note": notes[board, member]} if (board, member) in notes else {}),
            }
            for (board, member), amounts in updates.items()
        ]
        content = shares[0] if len(shares) == 1 else {"updates": shares}
        text = orjson.dumps({"id": event_id, "at": at.isoformat(), **content}).decode()
        return Sent(event_id, text, at, updates, good, notes, sets)

    def _drawn(self, updates: Updates) -> Mapping[tuple[str, str], Any]:
        """Draw a note for most of the updates that have a metric that keeps one."""
        keeping = [key for key, amounts in updates.items() if key[0] == LEAGUE and self._noted & amounts.keys()]
        return {key: {"n": self._rng.randint(0, 10**6)} for key in keeping if self._rng.random() < 0.8}


# ---- corrections


class Corrections:
    """Draws how events are corrected and taken back: several times, in any order, also before they have counted."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.rng = Random(f"{world.seed} corrections")

    def send(self, sent: Sent, others: Sequence[Sent], span: int) -> None:
        """Send some corrections of an event, each with its own content, that of the event, or that of another one."""
        for number in range(self.rng.choice([0, 0, 1, 1, 2, 3])):
            other = self.rng.choice([None, sent, *others, others[0]])
            correction = self.perhaps_history(self._drawn(f"{sent.id}c{number}", sent, other))
            waits = [(0, span), (0, span), (0, span), (MINUTE, HOUR), (HOUR, 2 * DAY), (2 * DAY, 29 * DAY)]
            for _ in range(self.rng.choice([1, 1, 1, 2])):
                after = self.rng.randint(*self.rng.choice(waits))
                self._world.clock.after(after, self._world.people.post, correction)

    def perhaps_history(self, sent: Sent) -> Sent:
        """Return an event, one of ten as history."""
        return replace(sent, history=True) if self.rng.random() < 1 / 10 else sent

    def _drawn(self, own: str, of: Sent, instead: Sent | None) -> Sent:
        if instead is None:
            return Sent(
                own, orjson.dumps({"id": own, "retract": of.id}).decode(), of.at, {}, corrects=of.id, keeps_at=True
            )
        keeps_at = self.rng.random() < 1 / 2
        body = {**orjson.loads(instead.body), "id": own, "correct": of.id}
        if keeps_at:
            del body["at"]
        text = orjson.dumps(body).decode()
        return Sent(own, text, instead.at, instead.updates, corrects=of.id, keeps_at=keeps_at)


# ---- the script

BEGINNINGS: Final = (
    datetime(2026, 11, 21, 10, 15, tzinfo=UTC),
    datetime(2026, 11, 21, 22, 59, 50, tzinfo=UTC),  # just before midnight in Berlin
    datetime(2026, 11, 21, 23, 59, 50, tzinfo=UTC),  # just before midnight in UTC
    datetime(2026, 10, 24, 21, 59, 50, tzinfo=UTC),  # Berlin's day of 25 hours begins
    datetime(2026, 10, 25, 0, 59, 50, tzinfo=UTC),  # its clocks go back
    datetime(2026, 10, 25, 22, 59, 50, tzinfo=UTC),  # it ends
    datetime(2026, 3, 29, 0, 59, 50, tzinfo=UTC),  # its clocks go forward
    datetime(2026, 12, 31, 22, 59, 50, tzinfo=UTC),  # a year ends there
)
BURSTS: Final = 4
SEESAW: Final = (-1, 1)
AMOUNTS: Final = (-3, -2, -1, 0, 1, 1, 1, 2, 2, 3, 126, 127, 128, -127, -128, 300, 16_384)


class Script:
    """Draws the events and the member changes of one schedule."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._rng: Random = world.rng
        self.began = (self._rng.choice(BEGINNINGS) - EPOCH) // timedelta(microseconds=1)
        self._league = next(family for family in world.shape.families if family.name == LEAGUE)
        count = self._rng.randint(3, 4) if world.seesaw else self._rng.randint(5, 8)
        self.members = [f"m{number}" for number in range(count)]
        self._amount = SEESAW if world.seesaw else AMOUNTS
        self.clans = [f"clan#{number}" for number in range(self._rng.randint(1, 2))]
        self._notes = Notes(world.shape, world.seed, bests=world.options.bests)
        self._corrections = Corrections(world)
        self._number = 0
        self._merges = Random(f"{world.seed} merges")

    def begin(self) -> None:
        world, rng = self._world, self._rng
        at = self.began
        if self._league.registered:
            at = self._registrations(at)
        each = -(-world.options.events // BURSTS)
        long = rng.randint(1, BURSTS - 2)
        for burst in range(BURSTS):
            if world.rebuilt and burst == (long + 1) % BURSTS:
                world.clock.at(at + rng.randint(0, 3 * SECOND), world.people.rebuild)
            if burst == BURSTS - 1 and not world.rebuilt and rng.random() < 0.12:
                world.clock.at(at + rng.randint(0, 3 * SECOND), world.people.audit)
            at = self.burst(at, each)
            if burst == long:
                at = self._days(at)
            elif burst < BURSTS - 1:
                at += self._gap()
            if burst == BURSTS - 2 and world.shape.later:
                self._deployment(at)
        world.clock.at(at, self._crowd)
        world.clock.at(at + rng.randint(8, 30) * MINUTE, world.comparison.compare, 20)
        if rng.random() < 0.12:
            self._return(at)

    def _registrations(self, at: int) -> int:
        """Register most members, and return the instant when that is done."""
        for member in self.members:
            if self._rng.random() < 0.85:
                self._world.clock.at(at + self._rng.randint(0, SECOND), self._world.people.edit, Edit(LEAGUE, member))
        return at + 2 * SECOND

    def _days(self, at: int) -> int:
        """Let days pass without events, so that accumulators expire. Return the instant when they are over."""
        world, rng = self._world, self._rng
        world.clock.at(at, self._crowd)
        world.clock.at(at + rng.randint(8, 30) * MINUTE, world.comparison.compare, 20)
        at += rng.randint(4 * DAY, 6 * DAY)
        world.clock.at(at - rng.randint(1, 300) * MINUTE, world.people.expire)
        # Nothing says that such a member was removed: what it had counted would be taken from what it has since.
        if rng.random() < 0.2 and not world.options.corrections:
            board, member = rng.choice([(LEAGUE, self.members[0]), (CLANS, self.clans[0])])
            world.clock.at(at - rng.randint(2 * DAY, 3 * DAY), world.people.delete_by_hand, board, member)
        return at

    def _deployment(self, at: int) -> None:
        world, rng = self._world, self._rng
        world.clock.at(at, world.people.deploy)
        world.clock.at(at + rng.randint(8 * SECOND, 5 * MINUTE), world.people.deploy)
        if CUP in world.judge.models:
            for _ in range(8):
                world.clock.at(at + rng.randint(0, 10 * SECOND), self._send_to_cup)

    def _return(self, at: int) -> None:
        """Remove members, and register them again after TTL has deleted their items."""
        world, rng = self._world, self._rng
        for member in self.members[:2]:
            world.clock.at(at + HOUR, world.people.edit, Edit(LEAGUE, member, remove=True))
        at += rng.randint(61 * DAY, 70 * DAY)
        world.clock.at(at, world.people.expire)
        world.clock.at(at + HOUR, world.people.expire)
        for member in self.members[:2]:
            if self._league.registered:
                world.clock.at(at + 2 * HOUR, world.people.edit, Edit(LEAGUE, member))
        for _ in range(6):
            world.clock.at(at + 2 * HOUR + MINUTE, self._send, SECOND)

    def _gap(self) -> int:
        rng = self._rng
        if self._world.rebuilt:
            return rng.randint(0, 5 * MINUTE)  # a rebuild takes some minutes
        return rng.choice([rng.randint(0, 5 * SECOND), rng.randint(MINUTE, 10 * MINUTE), rng.randint(HOUR, 7 * HOUR)])

    def burst(self, at: int, count: int) -> int:
        """Send events and change members within some seconds. Return the instant of the last event."""
        world, rng = self._world, self._rng
        span = rng.randint(1, 5) * SECOND
        if rng.random() < 0.3:
            # The poller of the stream is paused, so that its batches grow.
            world.clock.at(at, setattr, world.poller, "paused_until", at + span + rng.randint(0, 30 * SECOND))
        if rng.random() < 0.25:
            world.clock.at(at + rng.randint(0, span), world.server.throttle, rng.randint(3, 20) * SECOND)
        for _ in range(count):
            world.clock.at(at + rng.randint(0, span), self._send, span)
        for _ in range(rng.randint(2, 5)):
            world.clock.at(at + rng.randint(0, span), self._change_member)
        for _ in range(self._merges.randint(1, 4) if world.options.people else 0):
            world.clock.at(at + self._merges.randint(0, span), self._merge)
        if world.seesaw:
            # Some members leave and come back as their last change.
            for member in rng.sample(self.members, 2):
                edited_at = at + span
                for hidden in (True, False):
                    edited_at += rng.randint(0, 2 * SECOND)
                    world.clock.at(edited_at, world.people.edit, Edit(LEAGUE, member, hidden=hidden))
        return at + span

    # ---- events

    def _send_to_cup(self) -> None:
        """Send an event for a board that only the later definition has."""
        event = self._event()
        member = self._rng.choice(self.members)
        updates = {(CUP, member): {"points": self._rng.choice(self._amount)}}
        self._world.people.post(self._notes.sent(event.id, event.at, updates, good=True))

    def _send(self, span: int) -> None:
        world, rng = self._world, self._rng
        sent = self._event()
        if world.options.corrections and sent.good:
            sent = self._corrections.perhaps_history(sent)
        world.people.post(sent)
        if world.options.corrections and sent.good:
            others = [other for other in (self._event(), self._event()) if other.good] or [sent]
            self._corrections.send(sent, others, span)
        chance = rng.random()
        if chance < 0.06:
            world.fault("sent twice")
            world.clock.after(rng.randint(0, span), world.people.post, sent)
        elif chance < 0.08:
            world.fault("sent again days later")
            world.clock.after(rng.randint(HOUR, 28 * DAY), world.people.post, sent)
        elif chance < 0.09:
            world.fault("id used for other content")
            other = self._event()
            content = self._notes.sent(sent.id, other.at, dict(other.updates), good=other.good)
            world.clock.after(rng.randint(0, 2 * span), world.people.post, content)

    def _event(self) -> Sent:
        world, rng = self._world, self._rng
        self._number += 1
        event_id = f"e{self._number}"
        now = world.clock.now // 1000
        at = EPOCH + timedelta(milliseconds=now - self._age())
        member = rng.choice(self.members)
        updates = {(LEAGUE, member): self._amounts()}
        chance = rng.random()
        if chance < 0.3:
            updates[CLANS, rng.choice(self.clans)] = {"points": rng.choice(self._amount)}
        elif chance < 0.35:
            updates = {(CLANS, rng.choice(self.clans)): {"points": rng.choice(self._amount)}}
        elif chance < 0.4:
            updates[LEAGUE, rng.choice(self.members)] = self._amounts()
        good = rng.random() >= 0.01
        return self._notes.sent(event_id, at, updates if good else {(LEAGUE, member): {"nonsense": 1}}, good=good)

    def _age(self) -> int:
        rng = self._rng
        chance = rng.random()
        if chance < 0.8:
            return rng.randint(0, 20_000)
        longest = HOUR if chance < 0.9 else 2 * DAY if chance < 0.97 else 12 * DAY
        return rng.randint(0, longest // 1000)

    def _amounts(self) -> dict[str, int]:
        rng = self._rng
        # Most events can be corrected: they name sums alone.
        sums = self._world.options.corrections and rng.random() < 0.8
        names = [name for name in self._league.metrics if name in (SUMS | {"lost"}) or not sums]
        amounts = {name: rng.choice(self._amount) for name in names if rng.random() < 0.7}
        amounts = whole(self._league, amounts)
        return amounts or {"points": rng.choice(self._amount)}

    # ---- changes of members

    def _crowd(self) -> None:
        """Change three members at once, if three functions have never run at the same time before."""
        if self._world.workers < 3:
            for member in self.members[:3]:
                self._world.people.edit(Edit(LEAGUE, member, hidden=False))

    def _merge(self) -> None:
        """Merge a member into another one. Its later events bring it back."""
        rng = self._merges
        board = rng.choice([LEAGUE, LEAGUE, CLANS]) if len(self.clans) > 1 else LEAGUE
        old, new = rng.sample(self.members if board == LEAGUE else self.clans, 2)
        self._world.people.merge(Merge(board, old, new))

    def _change_member(self) -> None:
        world, rng = self._world, self._rng
        board = rng.choice([LEAGUE, LEAGUE, CLANS])
        member = rng.choice(self.members if board == LEAGUE else self.clans)
        spans = (0, SECOND), (0, 3 * SECOND), (0, 5 * SECOND), (MINUTE, 2 * HOUR)
        soon = rng.choice([rng.randint(*span) for span in spans])
        if rng.random() < 0.6:
            world.people.edit(Edit(board, member, hidden=True))
            world.clock.after(soon, world.people.edit, Edit(board, member, hidden=False))
        else:
            world.people.edit(Edit(board, member, remove=True))
            if rng.random() < 0.7:
                world.clock.after(soon, world.people.edit, Edit(board, member))
