"""Exercises a stack: posts events, compares every rank with a sort, replays a dead letter, audits, and cleans up.

The sort uses no code of the product.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import ceil, floor
from random import Random
from typing import Any, Final
from zoneinfo import ZoneInfo

from standings.aws.sqs import MAX_ENTRIES, OutgoingMessage
from standings_cli.doctor.checks import Finding, failed, ok
from standings_cli.post.outbox import NotTakenError, Outbox
from standings_cli.stack.api import Api
from standings_cli.stack.errors import ApiError
from standings_cli.stack.maintenance import Maintenance

_SPAN: Final = re.compile(r"(\d+) (\w+?)s?")
_LENGTHS: Final = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True, slots=True)
class Metric:
    """What a metric of the board counts, and the windows in which it ranks."""

    name: str
    aggregate: str
    descending: bool
    windows: tuple[str, ...]
    least: int | None = None
    most: int | None = None

    def within(self, amount: int) -> int:
        """The whole number nearest to an amount that the metric's limits allow."""
        raised = amount if self.least is None else max(amount, self.least)
        return raised if self.most is None else min(raised, self.most)

    @property
    def takes_whole_numbers(self) -> bool:
        """Whether any whole number is within the limits."""
        return self.least is None or self.most is None or self.least <= self.most


@dataclass(frozen=True, slots=True)
class Season:
    """A season, from its first day to the first that no longer belongs to it."""

    name: str
    starts: date
    ends: date


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a board. Events of the last `late` count in every period that they fall in."""

    board: str
    timezone: ZoneInfo
    week_start: int
    late: timedelta
    is_open: bool
    metrics: tuple[Metric, ...]
    seasons: tuple[Season, ...] = ()

    def season(self, at: datetime) -> Season | None:
        """The season at a time; None in a gap."""
        day = at.astimezone(self.timezone).date()
        return next((season for season in self.seasons if season.starts <= day < season.ends), None)


def rules_of(answer: Mapping[str, Any]) -> Rules:
    """The rules in an answer of the API."""
    metrics = tuple(
        Metric(
            one["metric"],
            one["aggregate"],
            one["order"] == "descending",
            tuple(window["window"] for window in one["windows"]),
            None if one["least"] is None else ceil(one["least"]),
            None if one["most"] is None else floor(one["most"]),
        )
        for one in answer["metrics"]
    )
    return Rules(
        answer["board"],
        ZoneInfo(answer["timezone"]),
        _WEEKDAYS.index(answer["week_start"]),
        _span(answer["late"]),
        answer["members"] == "open",
        metrics,
        tuple(
            Season(one["name"], date.fromisoformat(one["starts"]), date.fromisoformat(one["ends"]))
            for one in answer.get("seasons", ())
        ),
    )


def _span(text: str) -> timedelta:
    number, unit = _SPAN.fullmatch(text).groups()  # type: ignore[union-attr]
    return int(number) * _LENGTHS[unit]


_ROLLING: Final = re.compile(r"last-(\d+)-(hours|days)")
_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Event:
    """What an event adds to each metric of its members: a whole number, or the nearest that the metric takes."""

    id: str
    at: datetime
    members: tuple[str, ...]
    amount: int


@dataclass(frozen=True, slots=True)
class Standing:
    """A member's rank and score."""

    rank: int
    member: str
    score: int


def bounds(window: str, at: datetime, rules: Rules) -> tuple[datetime, datetime] | None:
    """The first instant of a window's period at a time, and the first after it; None for `all`."""
    if window == "all":
        return None
    if window == "season":
        season = season_of(at, rules)
        return _midnight(season.starts, rules), _midnight(season.ends, rules)
    local = at.astimezone(rules.timezone)
    if match := _ROLLING.fullmatch("last-1-hours" if window == "hour" else window):
        count = int(match[1])
        return _hours(at, count, rules) if match[2] == "hours" else _days(local, 1 - count, 1, rules)
    weekday = (local.weekday() - rules.week_start) % 7
    match window:
        case "day":
            return _days(local, 0, 1, rules)
        case "week":
            return _days(local, -weekday, 7 - weekday, rules)
        case "month":
            first = local.replace(day=1)
            following = (first.replace(hour=12) + timedelta(days=31)).replace(day=1)
        case "year":
            first = local.replace(month=1, day=1)
            following = first.replace(year=first.year + 1)
        case _:
            raise ValueError(f"expected a window that this version knows, got {window!r}: use its own command line")
    return _midnight(first, rules), _midnight(following, rules)


def label(window: str, at: datetime, rules: Rules) -> str | None:
    """The name of a period in `?period=`; None for `all`."""
    if window == "all":
        return None
    if window == "season":
        return season_of(at, rules).name
    local = at.astimezone(rules.timezone)
    if window != "hour" and not window.endswith("-hours"):
        return local.date().isoformat()
    # An hour that the clocks show twice is named with its offset.
    offset = local.strftime("%z")
    is_twice = local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()
    return f"{local:%Y-%m-%dT%H}" + (f"{offset[:3]}:{offset[3:]}" if is_twice else "")


def season_of(at: datetime, rules: Rules) -> Season:
    """The season at a time; ValueError in a gap."""
    season = rules.season(at)
    if season is None:
        raise ValueError(f"expected a time in a season, got {at.isoformat()}")
    return season


def standings(events: Iterable[Event], metric: Metric, period: tuple[datetime, datetime] | None) -> list[Standing]:
    """The members with an event in a period, from the first to the last, equals by member."""
    amounts: dict[str, list[tuple[datetime, str, int]]] = {}
    for event in events:
        if period is None or period[0] <= event.at < period[1]:
            for member in event.members:
                amounts.setdefault(member, []).append((event.at, event.id, metric.within(event.amount)))
    scores = {member: _aggregate(metric.aggregate, given) for member, given in amounts.items()}
    sign = -1 if metric.descending else 1
    placed: list[Standing] = []
    order = sorted(scores.items(), key=lambda one: (sign * one[1], one[0]))
    for position, (member, score) in enumerate(order, start=1):
        tied = placed and placed[-1].score == score
        placed.append(Standing(placed[-1].rank if tied else position, member, score))
    return placed


def percentile(standing: Standing, total: int) -> float:
    """The share of members at or behind this one, in per cent, rounded half up to two decimals."""
    hundredths = (20_000 * (total - standing.rank + 1) + total) // (2 * total)
    return hundredths / 100


def _aggregate(name: str, given: Sequence[tuple[datetime, str, int]]) -> int:
    values = [amount for _, _, amount in given]
    match name:
        case "sum":
            return sum(values)
        case "max":
            return max(values)
        case "min":
            return min(values)
        case _:
            return max(given)[2]  # the latest, of several such the one with the greatest id


def _hours(at: datetime, count: int, rules: Rules) -> tuple[datetime, datetime]:
    # Hours begin where the zone's clocks show a full hour: in some zones at half past in UTC.
    shift = (datetime(2025, 1, 15, tzinfo=rules.timezone).utcoffset() or timedelta()) % _HOUR
    end = (at.astimezone(UTC) + shift).replace(minute=0, second=0, microsecond=0) - shift + _HOUR
    return end - count * _HOUR, end


def _days(local: datetime, first: int, following: int, rules: Rules) -> tuple[datetime, datetime]:
    noon = local.replace(hour=12, fold=0)  # a day is never a multiple of 24 hours away by the clock alone
    return _midnight(noon + timedelta(days=first), rules), _midnight(noon + timedelta(days=following), rules)


def _midnight(local: date, rules: Rules) -> datetime:
    """The first instant of a day."""
    # Where the clocks skip midnight, this is the instant at which they do.
    return datetime(local.year, local.month, local.day, tzinfo=rules.timezone).astimezone(UTC)


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


_PAGE: Final = 500
_SAMPLE: Final = 5
"""Members of each ranking whose own rank is read."""
_PERCENTILES: Final = (1, 50, 99)


@dataclass(slots=True)
class Comparison:
    """How many answers were compared, and in what they differ from the sort."""

    rankings: int
    ranks: int
    differences: list[str]


def compare(api: Api, rules: Rules, events: Sequence[Event], at: datetime) -> Comparison:
    """Compare every ranking of the period that contains `at`."""
    found = Comparison(0, 0, [])
    for metric in rules.metrics:
        for window in metric.windows:
            if window == "season" and rules.season(at) is None:
                continue  # Nothing of what the check sends counts in a season.
            right = standings(events, metric, bounds(window, at, rules))
            ranking = _Ranking(api, rules, metric, window, label(window, at, rules))
            found.rankings += 1
            found.ranks += len(right)
            found.differences += [f"{metric.name} {window}: {difference}" for difference in ranking.differences(right)]
    return found


@dataclass(frozen=True, slots=True)
class _Ranking:
    api: Api
    rules: Rules
    metric: Metric
    window: str
    period: str | None

    def differences(self, right: Sequence[Standing]) -> Iterator[str]:
        """In what the ranking differs. Where its list does, nothing else is read."""
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
        sample = right[:: max(1, len(right) // _SAMPLE)]
        for one in sample:
            answer = self._read("rank", member=one.member)
            expected = (one.rank, one.score, len(right), percentile(one, len(right)))
            yield from self._unlike(one.member, expected, answer, ("rank", "score", "total", "percentile"))
        for p in _PERCENTILES:
            score = self._score_at(right, p)
            yield from self._unlike(f"percentile {p}", (score,), self._read("percentile", p=p), ("score",))
        counted = sum(bucket["members"] for bucket in self._read("distribution")["buckets"])
        if counted != len(right):
            yield f"distribution: expected {len(right)} members, got {counted}"

    def _list(self, right: Sequence[Standing]) -> Iterator[str]:
        shown: list[tuple[int, str, Any]] = []
        cursor = None
        while cursor is not None or not shown:
            page = self._read(limit=_PAGE, cursor=cursor)
            shown += [(entry["rank"], entry["member"], entry["score"]) for entry in page["entries"]]
            cursor = page["next"]
            if page["total"] != len(right):
                yield f"total: expected {len(right)}, got {page['total']}"
            if cursor is None:
                break
        # Equals may be listed by who was first, so members of one rank are compared as a set.
        expected = [(one.rank, one.member, one.score) for one in right]
        for one, other in zip(sorted(expected), sorted(shown), strict=False):
            if one != other:
                yield f"list: expected {one}, got {other}"
                return
        if [rank for rank, *_ in shown] != [rank for rank, *_ in expected]:
            yield f"list: expected {len(expected)} entries in the order of their ranks, got {len(shown)}"

    def _score_at(self, right: Sequence[Standing], p: int) -> int:
        """The score furthest behind of those whose share of members at or behind is at least p per cent."""
        total = len(right)
        return next(one.score for one in reversed(right) if 100 * (total - one.rank + 1) >= p * total)

    def _read(self, *path: str, **arguments: Any) -> dict[str, Any]:
        place = ("boards", self.rules.board, self.metric.name, self.window, *path)
        return self.api.read(*place, period=self.period, **arguments)

    @staticmethod
    def _unlike(about: str, expected: tuple[Any, ...], answer: dict[str, Any], names: Sequence[str]) -> Iterator[str]:
        got = tuple(answer[name] for name in names)
        if got != expected:
            yield f"{about}: expected {expected}, got {got}"


PROBES: Final = 30
_PAUSE_S: Final = 2.0
_PROBE_PAUSE_S: Final = 0.1
PATIENCE_S: Final = 300.0
_SHOWN: Final = 5

Record = Callable[[str], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Tools:
    """The stack's services, and where time and chance come from."""

    sqs: Any
    queue_url: str
    api: Api
    maintenance: Maintenance
    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    rng: Random
    say: Callable[[str], None]


def exercise(tools: Tools, board: str, record: Record = lambda _: iter(())) -> Iterator[Finding]:
    """Prove the ranks of a board that has no events yet. The board and its dead letter are removed afterwards.

    `record` is called with the board while its events and its dead letter are there.
    """
    rules = rules_of(tools.api.read("boards", board))
    if not rules.is_open:
        yield failed("exercise", f"{board} takes registered members alone: name another with --board")
        return
    if narrow := [metric.name for metric in rules.metrics if not metric.takes_whole_numbers]:
        yield failed("exercise", f"{board} takes no whole numbers for {narrow[0]}: name another with --board")
        return
    if (total := _total(tools.api, rules)) != 0:
        yield failed("exercise", f"expected a board without members, got {total} on {board}: name another with --board")
        return
    exercised = _Exercise(tools, rules)
    try:
        yield from exercised.run(record)
    finally:
        exercised.remove()
    yield ok("clean-up", f"{board} is deleted")


def _total(api: Api, rules: Rules) -> int:
    for metric in rules.metrics:
        for window in metric.windows:
            return int(api.read("boards", rules.board, metric.name, window, limit=1)["total"])
    return 0


class _Exercise:
    def __init__(self, tools: Tools, rules: Rules) -> None:
        self._tools = tools
        self._rules = rules
        self._probed: list[Event] = []

    def run(self, record: Record) -> Iterator[Finding]:
        tools, rules = self._tools, self._rules
        began = tools.now()
        made = activity(rules, tools.rng, began)
        refused = Event(f"{rules.board}-ahead", (began + TOO_FAR_AHEAD).replace(microsecond=0), ("ahead",), 7)
        tools.say(f"posting {len(made.messages):,} messages with {len(made.events):,} events to {rules.board}")
        self._post([message(refused, rules), *made.messages])
        compared = self._settled(made.events, began)
        yield self._verdict("ranks", compared)
        yield self._lags()
        yield from record(rules.board)
        yield self._replay(refused)
        events = (*made.events, *self._probed, refused)
        yield self._verdict("ranks after a replay", self._settled(events, began))
        yield self._audit()

    def _post(self, bodies: Sequence[str]) -> None:
        messages = [OutgoingMessage(body, {}, self._rules.board) for body in bodies]
        batches = [messages[start : start + MAX_ENTRIES] for start in range(0, len(messages), MAX_ENTRIES)]
        for _, refused in Outbox(self._tools.sqs, self._tools.queue_url).delivered(batches, list):
            if refused:
                raise NotTakenError(next(iter(refused.values())))

    def _settled(self, events: Sequence[Event], at: datetime) -> Comparison:
        """Compare until queue, stream and index have brought everything, or patience is at its end."""
        deadline = self._tools.monotonic() + PATIENCE_S
        while True:
            compared = compare(self._tools.api, self._rules, events, at)
            if not compared.differences or self._tools.monotonic() >= deadline:
                return compared
            self._tools.say(f"waiting: {compared.differences[0]}")
            self._tools.sleep(_PAUSE_S)

    def _verdict(self, about: str, compared: Comparison) -> Finding:
        size = f"{compared.ranks:,} ranks in {compared.rankings} rankings"
        if compared.differences:
            shown = "; ".join(compared.differences[:_SHOWN])
            return failed(about, f"{len(compared.differences)} differences in {size} after {PATIENCE_S:g} s: {shown}")
        if not compared.ranks:
            return failed(about, f"{size} were compared: the board's metrics have no window that its events count in")
        return ok(about, f"{size}: 0 wrong")

    def _lags(self) -> Finding:
        """Post events one by one, and see how soon each has its rank."""
        lags: list[float] = []
        for member in probes(self._rules, PROBES):
            event = Event(member, self._tools.now().replace(microsecond=0), (member,), 1)
            self._probed.append(event)
            began = self._tools.monotonic()
            self._post([message(event, self._rules)])
            while not self._is_ranked(member):
                if self._tools.monotonic() - began > PATIENCE_S:
                    return failed("lag", f"an event had no rank after {PATIENCE_S:g} s: look at the alarms")
                self._tools.sleep(_PROBE_PAUSE_S)
            lags.append(self._tools.monotonic() - began)
        lags.sort()
        p50, p99 = lags[len(lags) // 2], lags[min(len(lags) - 1, len(lags) * 99 // 100)]
        return ok("lag", f"p50 {p50:.2f} s, p99 {p99:.2f} s from an event to its rank, of {len(lags)} single events")

    def _is_ranked(self, member: str) -> bool:
        metric = next(metric for metric in self._rules.metrics if metric.windows)
        try:
            self._tools.api.read("boards", self._rules.board, metric.name, metric.windows[0], "rank", member=member)
        except ApiError as error:
            if error.is_temporary or error.kind not in {"no-such-member", "not-ranked"}:
                raise
            return False
        return True

    def _replay(self, refused: Event) -> Finding:
        """Find the dead letter, wait until its time has come, and replay it."""
        about = "a dead letter"
        letters = self._letters()
        found = [letter for letter in letters if json.loads(letter["body"]).get("id") == refused.id]
        if len(letters) != 1 or len(found) != 1:
            return failed(about, f"expected the event that was too far ahead alone, got {len(letters)} dead letters")
        wait = (refused.at - AHEAD - self._tools.now()) / timedelta(seconds=1)
        self._tools.sleep(max(0.0, wait) + _PAUSE_S)
        answers = self._tools.maintenance.answers("dead_letters", {"board": self._rules.board}, "replay")
        if (replayed := sum(answer["replayed"] for answer in answers)) != 1:
            return failed(about, f"expected 1 to be replayed, got {replayed}")
        return ok(about, f"refused ({found[0]['reason']}), then replayed")

    def remove(self) -> None:
        """Delete the board and its dead letters."""
        board = self._rules.board
        if ids := [letter["id"] for letter in self._letters()]:
            for _ in self._tools.maintenance.answers("dead_letters", {"ids": ids}, "delete"):
                pass
        if {"board": board} in self._tools.api.read("boards", prefix=board)["boards"]:
            self._tools.say(f"deleting the board {board}; that takes some minutes, until every process knows")
            for _ in self._tools.maintenance.answers("delete", {"board": board}):
                pass

    def _letters(self) -> list[dict[str, Any]]:
        answers = self._tools.maintenance.answers("dead_letters", {"board": self._rules.board}, "list")
        return [letter for answer in answers for letter in answer["messages"]]

    def _audit(self) -> Finding:
        answers = self._tools.maintenance.answers("audit", {"board": self._rules.board})
        if drift := sum(answer["drift"] for answer in answers):
            return failed("audit", f"{drift} differences between rankings and scores: keep the stack as it is, and ask")
        return ok("audit", "rankings say what scores say")
