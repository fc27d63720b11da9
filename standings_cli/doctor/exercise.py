"""Exercises a stack: posts events, compares every rank with a sort, replays a dead letter, audits, and cleans up.

The sort uses no code of the product. So it has its own rules of periods, aggregates and ties.
"""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import chain
from math import ceil, floor, inf
from operator import mul
from random import Random
from typing import Any, Final, NamedTuple

from standings.aws.sqs import OutgoingMessage
from standings.client.api import Api
from standings.client.errors import ApiError
from standings.domain.zones import time_zone
from standings_cli.doctor.checks import Finding, failed, ok
from standings_cli.post.outbox import NotTakenError, Outbox, Outgoing
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import UNRANKED

_SPAN: Final = re.compile(r"(\d+) (\w+?)s?$")
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ROLLING: Final = re.compile(r"last-(\d+)-(hours|days)")
_HOUR: Final = timedelta(hours=1)


class Metric(NamedTuple):
    """A metric of the board: `Metric("points", "sum", True, ("all", "day"), -inf, inf, None)`.

    It ranks in `windows`, and allows amounts from `least` to `most`. Scores behind `ranked_from` are not ranked. The
    metrics `tie_breaks` order equal scores; those that are `kept_with` it are of the event that made its number.
    """

    name: str
    aggregate: str
    descending: bool
    windows: tuple[str, ...]
    least: float
    most: float
    kept_with: str | None
    ranked_from: float | None = None
    tie_breaks: tuple["Metric", ...] = ()

    def within(self, amount: int) -> int:
        """The whole number within the metric's limits that is nearest to an amount: of 100, 20 if `most` is 20.5."""
        return int(min(max(amount, self.least), self.most))

    def ranks(self, score: int) -> bool:
        """Whether a score is ranked."""
        first = self.ranked_from
        return first is None or (score >= first if self.descending else score <= first)

    @property
    def ranked_amount(self) -> int:
        """An amount that is ranked on its own, if the limits allow one."""
        first = 1.0 if self.ranked_from is None or self.ranks(self.within(1)) else self.ranked_from
        return self.within(ceil(first) if self.descending else floor(first))


class Season(NamedTuple):
    """A season: `Season("november", date(2026, 11, 1), date(2026, 12, 1))`. `ends` is the first day after it."""

    name: str
    starts: date
    ends: date


class Rules(NamedTuple):
    """The rules of a board: `Rules("doctor-1", time_zone("Europe/Berlin"), 0, timedelta(days=7), True, (…), ())`.

    `week_start` is 0 for Monday. Events that are at most `late` old count in every period that contains them. A board
    that `is_open` takes events of members who are not registered.
    """

    board: str
    timezone: tzinfo
    week_start: int
    late: timedelta
    is_open: bool
    metrics: tuple[Metric, ...]
    seasons: tuple[Season, ...]


def rules_of(answer: Mapping[str, Any]) -> Rules:
    """The rules in the answer of `GET /boards/{board}`."""
    metrics = {
        one["metric"]: Metric(
            one["metric"],
            one["aggregate"],
            one["order"] == "descending",
            tuple(window["window"] for window in one["windows"]),
            -inf if one["least"] is None else ceil(one["least"]),
            inf if one["most"] is None else floor(one["most"]),
            one.get("with"),
            one.get("ranked_from"),
        )
        for one in answer["metrics"]
    }
    named = {one["metric"]: one.get("tie_breaks", ()) for one in answer["metrics"]}
    ranked = tuple(
        one._replace(tie_breaks=tuple(metrics[each] for each in named[one.name])) for one in metrics.values()
    )
    seasons = tuple(
        Season(one["name"], date.fromisoformat(one["starts"]), date.fromisoformat(one["ends"]))
        for one in answer.get("seasons", ())
    )
    week_start, (number, unit) = _WEEKDAYS.index(answer["week_start"]), _SPAN.findall(answer["late"])[0]
    late, is_open = timedelta(**{f"{unit}s": int(number)}), answer["members"] == "open"
    return Rules(answer["board"], time_zone(answer["timezone"]), week_start, late, is_open, ranked, seasons)


class Event(NamedTuple):
    """An event: `Event("doctor-1-7", datetime(…), ("member-3",), 50)`.

    Each of its members gets `amount` in every metric, or the nearest whole number that the metric's limits allow.
    """

    id: str
    at: datetime
    members: tuple[str, ...]
    amount: int


class Standing(NamedTuple):
    """A member's rank, and its score before its tie-breaks: `Standing(41, "member-3", (303, 20))`."""

    rank: int
    member: str
    numbers: tuple[int, ...]


class Period(NamedTuple):
    """A period: its name in `?period=` (None for that of `all`), its first instant, and the first after it.

    21 November in Berlin is `Period("2026-11-21", datetime(2026, 11, 20, 23), datetime(2026, 11, 21, 23))`, in UTC.
    """

    label: str | None
    first: datetime
    following: datetime


def period_of(window: str, at: datetime, rules: Rules) -> Period | None:
    """The period of a window, such as `day`, that contains an instant. None between two seasons.

    For a rolling window it is the one whose last bucket contains the instant. ValueError for an unknown window.
    """
    if window == "all":
        return Period(None, datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
    day = at.astimezone(rules.timezone).date()
    if window == "season":
        season = next((one for one in rules.seasons if one.starts <= day < one.ends), None)
        return season and _days(season.name, season.starts, season.ends, rules)
    if match := _ROLLING.fullmatch({"hour": "last-1-hours", "day": "last-1-days"}.get(window, window)):
        count, unit = int(match[1]), match[2]
        if unit == "hours":
            return _hours(at, count, rules)
        first, following = day - timedelta(days=count - 1), day + timedelta(days=1)
    elif window == "week":
        first = day - timedelta(days=(day.weekday() - rules.week_start) % 7)
        following = first + timedelta(days=7)
    elif window == "month":
        first = day.replace(day=1)
        following = (first + timedelta(days=31)).replace(day=1)
    elif window == "year":
        first, following = date(day.year, 1, 1), date(day.year + 1, 1, 1)
    else:
        raise ValueError(f"expected a window that this version knows, got {window!r}: use its own command line")
    return _days(day, first, following, rules)


def _hours(at: datetime, count: int, rules: Rules) -> Period:
    # Hours begin where the zone's clocks show a full hour: in some zones at half past in UTC.
    shift = (datetime(2025, 1, 15, tzinfo=rules.timezone).utcoffset() or timedelta()) % _HOUR
    end = (at.astimezone(UTC) + shift).replace(minute=0, second=0, microsecond=0) - shift + _HOUR
    # A full hour in UTC is in one hour of each zone, whatever the clocks there show.
    return Period(f"{end - timedelta(microseconds=1):%Y-%m-%dT%HZ}", end - count * _HOUR, end)


def _days(label: object, first: date, following: date, rules: Rules) -> Period:
    # Where the clocks skip midnight, a day begins at the instant at which they do.
    one, other = (datetime(day.year, day.month, day.day, tzinfo=rules.timezone) for day in (first, following))
    return Period(str(label), one.astimezone(UTC), other.astimezone(UTC))


def standings(events: Iterable[Event], metric: Metric, period: Period) -> list[Standing]:
    """The ranking of a period, by a sort: each member with a score that is ranked, the best first, ties by member."""
    amounts: dict[str, list[tuple[datetime, str, int]]] = {}
    for event in events:
        if period.first <= event.at < period.following:
            for member in event.members:
                amounts.setdefault(member, []).append((event.at, event.id, event.amount))
    scores = {member: _numbers_of(metric, given) for member, given in amounts.items()}
    scores = {member: numbers for member, numbers in scores.items() if metric.ranks(numbers[0])}
    signs = _signs((metric, *metric.tie_breaks))
    placed: list[Standing] = []
    order = sorted(scores.items(), key=lambda one: ([*map(mul, signs, one[1])], one[0]))
    for position, (member, numbers) in enumerate(order, start=1):
        tied = placed and placed[-1].numbers == numbers
        placed.append(Standing(placed[-1].rank if tied else position, member, numbers))
    return placed


def _signs(metrics: Iterable[Metric]) -> list[int]:
    """What each number is multiplied by, so that the least leads."""
    return [-1 if metric.descending else 1 for metric in metrics]


def _numbers_of(metric: Metric, given: Sequence[tuple[datetime, str, int]]) -> tuple[int, ...]:
    """The score that events give a member, and its tie-breaks."""
    score, others = _aggregate(metric, given), metric.tie_breaks
    if not any(each.kept_with for each in others):
        return (score, *(_aggregate(each, given) for each in others))
    made = [max(given)] if metric.aggregate == "last" else [one for one in given if metric.within(one[2]) == score]
    kept = [[each.within(amount) for each in others] for _, _, amount in made]
    # Among equal bests the one that is ahead in the tie-breaks counts.
    return (score, *min(kept, key=lambda numbers: [*map(mul, _signs(others), numbers)]))


def _aggregate(metric: Metric, given: Sequence[tuple[datetime, str, int]]) -> int:
    if metric.aggregate == "last":
        return metric.within(max(given)[2])  # the latest, of several such the one with the greatest id
    values = [metric.within(amount) for _, _, amount in given]
    return sum(values) if metric.aggregate == "sum" else max(values) if metric.aggregate == "max" else min(values)


MEMBERS: Final = 300
EVENTS: Final = 2_000
AHEAD: Final = timedelta(minutes=5)
"""How far ahead of the writer's clock the time of an event may be."""
TOO_FAR_AHEAD: Final = AHEAD + timedelta(seconds=45)
"""How far ahead the one event is that the writer refuses at first. Some time later its replay counts."""

_MOST_LATE: Final = timedelta(hours=20)
_LATE, _DOUBLED, _TOGETHER = 0.3, 0.1, 0.1
_MOST_TOGETHER: Final = 5
_AMOUNTS: Final = (1, 1, 1, 2, 2, 3, 5, 8, 13, 20, 50, 100)


def activity(rules: Rules, rng: Random, now: datetime) -> tuple[list[Event], list[str]]:
    """Draw events from before `now`, and the messages that deliver them: in any order, some of them twice.

    A few members are very active. Amounts are few and small, so many members are tied.
    """
    latest = min(rules.late / 2, _MOST_LATE)
    events = [_event(f"{rules.board}-{number}", rng, now, latest) for number in range(EVENTS)]
    messages = [message(event, rules) for event in events]
    messages += rng.sample(messages, round(_DOUBLED * EVENTS))
    rng.shuffle(messages)
    return events, messages


def message(event: Event, rules: Rules) -> str:
    """An event as the body of a message: `{"id": "doctor-1-7", "at": "…", "board": "doctor-1", …}`."""
    metrics = {metric.name: metric.within(event.amount) for metric in rules.metrics}
    shares = [{"board": rules.board, "member": member, "metrics": metrics} for member in event.members]
    content = shares[0] if len(shares) == 1 else {"updates": shares}
    return json.dumps({"id": event.id, "at": event.at.isoformat(), **content})


def _event(name: str, rng: Random, now: datetime, latest: timedelta) -> Event:
    late = latest * rng.random() if rng.random() < _LATE else timedelta()
    at = (now - late).replace(microsecond=0)
    together = rng.randint(2, _MOST_TOGETHER) if rng.random() < _TOGETHER else 1
    # The lower of two numbers is the more likely, so the first members are the most active.
    members = {f"member-{min(rng.randrange(MEMBERS), rng.randrange(MEMBERS))}" for _ in range(together)}
    return Event(name, at, tuple(sorted(members)), rng.choice(_AMOUNTS))


_PAGE: Final = 500
_SAMPLE: Final = 5
"""Members of each ranking, roughly, whose own rank is read."""
_PERCENTILES: Final = (1, 50, 99)


@dataclass(slots=True)
class Comparison:
    """How many rankings and ranks were compared, and how they differ from the sort.

    `Comparison(4, 1200, ["points day: total: expected 300, got 299"])`.
    """

    rankings: int
    ranks: int
    differences: list[str]


def compare(api: Api, rules: Rules, events: Sequence[Event], at: datetime) -> Comparison:
    """Compare every ranking of the board, in the period that contains `at`, with a sort of the events."""
    found = Comparison(0, 0, [])
    for metric in rules.metrics:
        for window in metric.windows:
            period = period_of(window, at, rules)
            if period is None:
                continue  # Between two seasons nothing of what the check sends counts in one.
            right = standings(events, metric, period)
            ranking = _Ranking(api, ("boards", rules.board, metric.name, window), period.label)
            found.rankings += 1
            found.ranks += len(right)
            found.differences += [f"{metric.name} {window}: {difference}" for difference in ranking.differences(right)]
    return found


@dataclass(frozen=True, slots=True)
class _Ranking:
    api: Api
    path: tuple[str, ...]
    period: str | None

    def differences(self, right: Sequence[Standing]) -> Iterator[str]:
        """How the ranking differs from the right one. If its list does, nothing else is read."""
        if wrong := list(self._list(right)):
            yield from wrong
        elif right:
            try:
                yield from self._answers(right)
            except ApiError as error:
                if error.is_temporary:
                    raise
                yield str(error)

    def _answers(self, right: Sequence[Standing]) -> Iterator[str]:
        total = len(right)
        for one in right[:: max(1, total // _SAMPLE)]:
            # The share of members at or behind this one, in per cent, rounded down to two decimals.
            percentile = 10_000 * (total - one.rank + 1) // total / 100
            answer, expected = self._read("rank", member=one.member), (one.rank, total, percentile, *one.numbers)
            yield from self._unlike(one.member, expected, answer, ("rank", "total", "percentile"))
        for p in _PERCENTILES:
            # The score furthest behind of those whose share of members at or behind is at least p per cent.
            numbers = next(one.numbers for one in reversed(right) if 100 * (total - one.rank + 1) >= p * total)
            yield from self._unlike(f"percentile {p}", numbers, self._read("percentile", p=p))
        counted = sum(bucket["members"] for bucket in self._read("distribution")["buckets"])
        if counted != total:
            yield f"distribution: expected {total} members, got {counted}"

    def _list(self, right: Sequence[Standing]) -> Iterator[str]:
        listed, cursor, is_whole = list[Standing](), None, False
        while not is_whole:
            page = self._read(limit=_PAGE, cursor=cursor)
            listed += [Standing(entry["rank"], entry["member"], _numbers(entry)) for entry in page["entries"]]
            cursor = page["next"]
            is_whole = cursor is None
            if page["total"] != len(right):
                yield f"total: expected {len(right)}, got {page['total']}"
        # Equals may be listed by who was first, so members of one rank are compared as a set.
        for one, other in zip(sorted(right), sorted(listed), strict=False):
            if one != other:
                yield f"list: expected {tuple(one)}, got {tuple(other)}"
                return
        if [one.rank for one in listed] != [one.rank for one in right]:
            yield f"list: expected {len(right)} entries in the order of their ranks, got {len(listed)}"

    def _read(self, *path: str, **arguments: Any) -> dict[str, Any]:
        return self.api.read(*self.path, *path, period=self.period, **arguments)

    @staticmethod
    def _unlike(
        about: str, expected: tuple[Any, ...], answer: dict[str, Any], names: Sequence[str] = ()
    ) -> Iterator[str]:
        got = (*(answer[name] for name in names), *_numbers(answer))
        if got != expected:
            yield f"{about}: expected {expected}, got {got}"


def _numbers(answer: Mapping[str, Any]) -> tuple[int, ...]:
    """The score and the tie-breaks of an answer."""
    return answer["score"], *(answer.get("tie_breaks") or {}).values()


PROBES: Final = 30
_PAUSE_S: Final = 2.0
_PROBE_PAUSE_S: Final = 0.1
TIMEOUT_S: Final = 300.0
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Tools:
    """The stack, the clocks and the random numbers of an exercise, and how it reports its progress.

    `Tools(connection, lambda: datetime.now(UTC), Random())`.
    """

    connection: Connection
    now: Callable[[], datetime]
    rng: Random
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    say: Callable[[str], None] = lambda _: None


def exercise(tools: Tools, board: str, record: Callable[[str], Iterable[Finding]] = lambda _: ()) -> Iterator[Finding]:
    """Exercise a board that has no events yet: `exercise(tools, "doctor-1")` yields what was found, step by step.

    `record` is called with the board while its events and its dead letter are there. At the end both are removed.
    Raises the errors of the API and of the queue, and NotTakenError.
    """
    api = tools.connection.api
    rules = rules_of(api.read("boards", board))
    narrow = [metric.name for metric in rules.metrics if metric.least > metric.most]
    ranked = [(metric.name, window) for metric in rules.metrics for window in metric.windows[:1]]
    probed = next((metric for metric in rules.metrics if metric.windows), None)
    problem = None
    if not rules.is_open:
        problem = f"{board} takes only registered members"
    elif narrow:
        problem = f"{board} takes no whole number for {narrow[0]}"
    elif probed is not None and not probed.ranks(probed.ranked_amount):
        problem = f"one event alone is never ranked by {probed.name} of {board}"
    elif ranked and (total := api.read("boards", board, *ranked[0], limit=1)["total"]):
        problem = f"expected a board without members, got {total} on {board}"
    if problem:
        yield failed("exercise", f"{problem}: name another with --board")
        return
    exercised = _Exercise(tools, rules)
    try:
        yield from exercised.run(record)
    finally:
        exercised.remove()
    yield ok("clean-up", f"{board} is deleted")


@dataclass(frozen=True, slots=True)
class _Exercise:
    tools: Tools
    rules: Rules
    probed: list[Event] = field(default_factory=list)

    def run(self, record: Callable[[str], Iterable[Finding]]) -> Iterator[Finding]:
        tools, rules = self.tools, self.rules
        began = tools.now()
        events, messages = activity(rules, tools.rng, began)
        refused = Event(f"{rules.board}-ahead", (began + TOO_FAR_AHEAD).replace(microsecond=0), ("ahead",), 7)
        tools.say(f"posting {len(messages):,} messages with {len(events):,} events to {rules.board}")
        self._post([message(refused, rules), *messages])
        yield self._verdict("ranks", self._settled(events, began))
        yield self._lags()
        yield from record(rules.board)
        yield self._replay(refused)
        yield self._verdict("ranks after a replay", self._settled([*events, *self.probed, refused], began))
        yield self._audit()

    def _post(self, bodies: Sequence[str]) -> None:
        connection = self.tools.connection
        messages = [OutgoingMessage(body, {}, self.rules.board) for body in bodies]
        outbox = Outbox(connection.client("sqs"), connection.queue_url)
        for _, refused in chain.from_iterable(outbox.delivered(messages, Outgoing)):
            if refused is not None:
                raise NotTakenError(refused)

    def _settled(self, events: Sequence[Event], at: datetime) -> Comparison:
        """Compare again until nothing differs, or for `TIMEOUT_S`: events take a while to reach their ranks."""
        deadline = self.tools.monotonic() + TIMEOUT_S
        while True:
            compared = compare(self.tools.connection.api, self.rules, events, at)
            if not compared.differences or self.tools.monotonic() >= deadline:
                return compared
            self.tools.say(f"waiting: {compared.differences[0]}")
            self.tools.sleep(_PAUSE_S)

    def _verdict(self, about: str, compared: Comparison) -> Finding:
        size = f"{compared.ranks:,} ranks in {compared.rankings} rankings"
        if compared.differences:
            shown = "; ".join(compared.differences[:_SHOWN])
            return failed(about, f"{len(compared.differences)} differences in {size} after {TIMEOUT_S:g} s: {shown}")
        if not compared.ranks:
            return failed(about, f"{size} were compared: no metric of the board has a window in which its events count")
        return ok(about, f"{size}: 0 wrong")

    def _lags(self) -> Finding:
        """Post events one by one, and measure how soon each has its rank."""
        lags: list[float] = []
        metric = next(metric for metric in self.rules.metrics if metric.windows)
        for member in (f"probe-{number}-of-{self.rules.board}" for number in range(PROBES)):
            event = Event(member, self.tools.now().replace(microsecond=0), (member,), metric.ranked_amount)
            self.probed.append(event)
            began = self.tools.monotonic()
            self._post([message(event, self.rules)])
            while not self._is_ranked(member, metric):
                if self.tools.monotonic() - began > TIMEOUT_S:
                    return failed("lag", f"an event had no rank after {TIMEOUT_S:g} s: look at the alarms")
                self.tools.sleep(_PROBE_PAUSE_S)
            lags.append(self.tools.monotonic() - began)
        lags.sort()
        p50, p99 = lags[len(lags) // 2], lags[min(len(lags) - 1, len(lags) * 99 // 100)]
        return ok("lag", f"p50 {p50:.2f} s, p99 {p99:.2f} s from an event to its rank, of {len(lags)} single events")

    def _is_ranked(self, member: str, metric: Metric) -> bool:
        try:
            self.tools.connection.api.read(
                "boards", self.rules.board, metric.name, metric.windows[0], "rank", member=member
            )
        except ApiError as error:
            if error.is_temporary or error.kind not in UNRANKED:
                raise
            return False
        return True

    def _replay(self, refused: Event) -> Finding:
        """Find the dead letter of the event that was too far ahead, wait until it no longer is, and replay it."""
        about = "a dead letter"
        letters = self._letters()
        # The list shows no more than the beginning of a body.
        beginning = json.dumps({"id": refused.id}).removesuffix("}")
        found = [letter for letter in letters if letter["body"].startswith(f"{beginning},")]
        if len(letters) != 1 or len(found) != 1:
            return failed(about, f"expected one, the event that was too far ahead, got {len(letters)} dead letters")
        wait = (refused.at - AHEAD - self.tools.now()) / timedelta(seconds=1)
        self.tools.sleep(max(0.0, wait) + _PAUSE_S)
        answers = self.tools.connection.maintenance.answers("dead_letters", {"board": self.rules.board}, "replay")
        if (replayed := sum(answer["replayed"] for answer in answers)) != 1:
            return failed(about, f"expected 1 to be replayed, got {replayed}")
        return ok(about, f"refused ({found[0]['reason']}), then replayed")

    def remove(self) -> None:
        """Delete the board and its dead letters."""
        board = self.rules.board
        if ids := [letter["id"] for letter in self._letters()]:
            for _ in self.tools.connection.maintenance.answers("dead_letters", {"ids": ids}, "delete"):
                pass
        if {"board": board} in self.tools.connection.api.read("boards", prefix=board)["boards"]:
            self.tools.say(f"deleting the board {board}; that takes some minutes, until every process knows")
            for _ in self.tools.connection.maintenance.answers("delete", {"board": board}):
                pass

    def _letters(self) -> list[dict[str, Any]]:
        answers = self.tools.connection.maintenance.answers("dead_letters", {"board": self.rules.board}, "list")
        return [letter for answer in answers for letter in answer["messages"]]

    def _audit(self) -> Finding:
        answers = self.tools.connection.maintenance.answers("audit", {"board": self.rules.board})
        if drift := sum(answer["drift"] for answer in answers):
            return failed("audit", f"{drift} differences between rankings and scores: report it as an issue")
        return ok("audit", "rankings agree with scores")
