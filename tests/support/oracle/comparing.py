"""Every read of a board over HTTP against the judge. The entry point is `compare_every_read`.

    model = BoardModel({"points": Metric(windows=("all", "day"))}, Calendar(zone=BERLIN))
    ...                                        # the same events to the model and to the stack, all projected
    compare_every_read(stack, model, "b", now, random.Random(seed))

It reads as a client does, so it can be called on any stack and at any instant, as often as wanted: it changes nothing.
For every ranked metric and window it takes the current period and an earlier one that can be read; whole lists are
compared by each method, of the rest a sample that `rng` chooses. The first difference is an AssertionError that says
which request it was, what the judge says and what the product said.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from tests.support.aws.stack import Stack
from tests.support.oracle.model import METHODS, BoardModel, Line, Listing, Metric

SAMPLE: Final = 3
"""Members, positions, scores and the like that are tried of each kind."""
DELETE_PAGE_SIZE: Final = 100
FURTHEST: Final = 10**15 - 1
"""Units that a JSON number still holds exactly, as a float, with any decimals."""
FIELDS: Final = {
    "": ("entries", "next", "previous"),
    "/rank": ("rank", "score"),
    "/ranks": ("entries",),
    "/percentile": ("p", "score"),
    "/distribution": ("buckets",),
}
"""What an answer must have, whatever else it has, by the end of the path."""
STRANGERS: Final = ("nobody", "m\U0001f600")


@dataclass(frozen=True)
class Asked:
    """A ranking in one of its periods that is being compared."""

    stack: Stack
    model: BoardModel
    board: str
    metric: str
    window: str
    on: datetime
    now: datetime
    rng: random.Random
    listing: Listing

    @property
    def rules(self) -> Metric:
        return self.model.metrics[self.metric]

    @property
    def path(self) -> str:
        return f"/boards/{self.board}/{self.metric}/{self.window}"

    @property
    def period(self) -> str | None:
        """What the period is called; the current one need not be named."""
        named = self.model.calendar.named(self.window, self.on)
        return self.rng.choice([None, named]) if self.on == self.now else named

    @property
    def previous(self) -> Listing | None:
        """The list of the period before; None where there is none, or none that can be read."""
        before = self.model.calendar.before(self.window, self.on)
        if before is None or not self.model.calendar.is_readable(self.window, before, self.now):
            return None
        return self.model.listing(self.metric, self.window, before)

    def exact(self, units: int) -> Decimal:
        return Decimal(units).scaleb(-self.rules.precision)

    def lines(self, lines: Sequence[Line]) -> list[tuple[int, str, Decimal]]:
        return [(rank, member, self.exact(score)) for rank, member, score in lines]

    def members(self, most: int = SAMPLE) -> list[str]:
        """Some of the members that are ranked."""
        ranked = [one.member for one in self.listing.placed]
        return self.rng.sample(ranked, min(most, len(ranked)))

    def unranked(self) -> dict[str, str]:
        """Some who are not ranked, and the kind of problem that says why."""
        ranked = {one.member for one in self.listing.placed}
        missing = [member for member in self.model.members if member not in ranked]
        some = self.rng.sample(missing, min(SAMPLE, len(missing)))
        gone = sorted(self.model.removed - self.model.members.keys())
        return {
            **dict.fromkeys(some, "not-ranked"),
            **dict.fromkeys([*self.rng.sample(gone, min(1, len(gone))), self.rng.choice(STRANGERS)], "no-such-member"),
        }

    def scores(self) -> list[int]:
        """Some scores that are there, some beside them, and the furthest there can be."""
        there = [one.score for one in self.listing.placed]
        some = self.rng.sample(there, min(SAMPLE, len(there)))
        beside = [score + self.rng.choice([-128, -1, 1, 2, 127]) for score in some]
        return [*some, *beside, self.rng.choice([0, FURTHEST, -FURTHEST])]

    def read(self, rest: str = "", **arguments: Any) -> tuple[str, dict[str, Any]]:
        """What is read, in words, and the answer, which must be about this ranking."""
        arguments.setdefault("period", self.period)
        what = _words("GET", self.path + rest, arguments, self.now)
        status, answer = self.stack.get(self.path + rest, **arguments)
        return what, self.checked(what, rest, status, answer, arguments["method"])

    def checked(self, what: str, rest: str, status: int, answer: dict[str, Any], method: str) -> dict[str, Any]:
        """An answer with everything in it that each of its kind has."""
        same(what, 200, status, answer)
        same(f"{what}: fields that are missing", [], [name for name in FIELDS[rest] if name not in answer], answer)
        bounds = self.model.calendar.bounds(self.window, self.on)
        expected = {
            "board": self.board,
            "metric": self.metric,
            "window": self.window,
            "period": bounds,
            "order": "descending" if self.rules.descending else "ascending",
            "method": method,
            "total": self.listing.total,
        }
        about = {**{name: answer.get(name, "(missing)") for name in expected}, "period": _bounds(answer.get("period"))}
        same(what, expected, about)
        as_of = answer.get("as_of", 0)
        same(f"{what}: as_of is an instant or null", True, as_of is None or isinstance(as_of, str), answer)
        return answer

    def refused(self, kind: str, rest: str = "", **arguments: Any) -> None:
        """Read what is not there: the status and the kind of problem must say so."""
        arguments.setdefault("period", self.period)
        status, answer = self.stack.get(self.path + rest, **arguments)
        what = _words("GET", self.path + rest, arguments, self.now)
        same(what, (404, f"urn:standings:{kind}"), (status, answer.get("type")), answer)


Read = Callable[[Asked, str], None]
"""One kind of read of a ranking, by one method of numbering."""


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
    """Compare all that can be read of a board at the instant `now`, which is the stack's.

    `reads` and `methods` narrow it down to some kinds of reads of rankings; `members` says whether to compare what the
    board says of members as well; `most` is how many rankings are compared, chosen by `rng`, where not all.
    """
    for asked in rankings(stack, model, board, now, rng, most):
        for method in methods:
            compare_list(asked, method)
        for read in READS if reads is None else reads:
            read(asked, rng.choice(methods))
    if members:
        compare_members(stack, model, board, now, rng, methods)


def rankings(
    stack: Stack, model: BoardModel, board: str, now: datetime, rng: random.Random, most: int | None = None
) -> Iterator[Asked]:
    """Every ranking of a board in its current period and in one before that can still be read; or some of them."""
    periods: list[tuple[str, str, datetime]] = []
    for metric, rules in model.metrics.items():
        for window in rules.windows:
            periods.append((metric, window, now))
            earlier = list(model.calendar.earlier(window, now))
            if earlier:
                # The one just ended changes most.
                periods.append((metric, window, rng.choice([earlier[0], rng.choice(earlier)])))
    for metric, window, on in periods if most is None else rng.sample(periods, min(most, len(periods))):
        yield Asked(stack, model, board, metric, window, on, now, rng, model.listing(metric, window, on))


def compare_list(asked: Asked, method: str) -> None:
    """The whole list page by page, and back from its end."""
    lines = asked.listing.lines(method)
    limit = asked.rng.choice([asked.rng.randint(1, len(lines) + 1), 7, 1000])
    starts = range(0, len(lines) or 1, limit)
    cursor = previous = None
    for start in starts:
        what, page = asked.read(method=method, limit=limit, cursor=cursor)
        _compare_page(asked, what, page, lines, start, start + limit)
        cursor, previous = page["next"], page["previous"]
    for start in reversed(starts[:-1]):
        what, page = asked.read(method=method, limit=limit, cursor=previous)
        _compare_page(asked, what, page, lines, start, start + limit)
        previous = page["previous"]


def compare_positions(asked: Asked, method: str) -> None:
    """Pages from positions of the list, also beyond its end, and their neighbours."""
    lines = asked.listing.lines(method)
    for _ in range(SAMPLE):
        position, limit = asked.rng.randint(1, len(lines) + 2), asked.rng.randint(1, 5)
        start = min(position - 1, len(lines))
        what, page = asked.read(method=method, rank=position, limit=limit)
        _compare_page(asked, what, page, lines, start, start + limit, beyond=position > len(lines))
        if page["next"] is not None:
            what, following = asked.read(method=method, cursor=page["next"], limit=limit)
            _compare_page(asked, what, following, lines, start + limit, start + 2 * limit)
        if page["previous"] is not None and lines:
            what, before = asked.read(method=method, cursor=page["previous"], limit=limit)
            _compare_page(asked, what, before, lines, max(0, start - limit), start)


def compare_around(asked: Asked, method: str) -> None:
    """Members with their neighbours; those who are not ranked have none."""
    lines = asked.listing.lines(method)
    for member in asked.members():
        radius = asked.rng.randint(0, min(len(lines) + 1, DELETE_PAGE_SIZE))
        what, page = asked.read(method=method, around=member, radius=radius)
        around = asked.listing.around(member, radius, method)
        start = lines.index(around[0])
        _compare_page(asked, what, page, lines, start, start + len(around))
    for member, kind in asked.unranked().items():
        asked.refused(kind, around=member, method=method)


def compare_ranks(asked: Asked, method: str) -> None:
    """Members' ranks, with those in the period before; those who are not ranked have none."""
    for member in asked.members():
        with_previous = _may_ask_previous(asked)
        what, answer = asked.read("/rank", member=member, method=method, previous="true" if with_previous else None)
        same(what, member, answer["member"])
        same(what, _rank(asked, member, method, with_previous=with_previous), _numbers(answer, previous=with_previous))
    for member, kind in asked.unranked().items():
        asked.refused(kind, "/rank", member=member, method=method)


def compare_group(asked: Asked, method: str) -> None:
    """Ranks of a group, ranked or not, and within it."""
    there = [*asked.model.members, *asked.model.removed - asked.model.members.keys(), *STRANGERS]
    group = asked.rng.sample(sorted(there), asked.rng.randint(1, min(len(there), DELETE_PAGE_SIZE)))
    with_previous = _may_ask_previous(asked)
    arguments = {"method": method, "period": asked.period, "previous": "true" if with_previous else None}
    status, answer = asked.stack.post(f"{asked.path}/ranks", {"members": group}, **arguments)
    what = _words("POST", f"{asked.path}/ranks {group}", arguments, asked.now)
    asked.checked(what, "/ranks", status, answer, method)
    within = asked.listing.among(group, method)
    expected = [
        {"member": member, "group_rank": within.get(member)} | _rank(asked, member, method, with_previous=with_previous)
        for member in group
    ]
    found = [
        {"member": entry["member"], "group_rank": entry["group_rank"]} | _numbers(entry, previous=with_previous)
        for entry in answer["entries"]
    ]
    same(what, expected, found)


def compare_scores(asked: Asked, method: str) -> None:
    """Where scores stand, those that are there and others."""
    for score in asked.scores():
        what, answer = asked.read("/rank", score=f"{asked.exact(score):f}", method=method)
        expected = {**asked.listing.of_score(score, method)._asdict(), "score": asked.exact(score)}
        found = {name: answer.get(name, "(missing)") for name in ("rank", "above", "at", "below")}
        same(what, expected, {**found, "score": _exact(answer["score"])})


def compare_percentiles(asked: Asked, method: str) -> None:
    """Scores at percentiles, round ones and those at which the answer changes."""
    total = asked.listing.total
    edge = Decimal(100 * asked.rng.randint(1, total) / Decimal(total)).quantize(Decimal("1e-9")) if total else 1
    tried = [Decimal(100), Decimal(asked.rng.randint(1, 10**11)).scaleb(-9), Decimal(asked.rng.randint(1, 100)), edge]
    for p in tried:
        what, answer = asked.read("/percentile", p=f"{p:f}", method=method)
        score = asked.listing.score_at(Decimal(p))
        expected = (Decimal(p), None if score is None else asked.exact(score))
        same(what, expected, (_exact(answer["p"]), _exact(answer["score"])))


def compare_distribution(asked: Asked, method: str) -> None:
    """Histograms: every bucket counts exactly those in it, and all of them everybody."""
    most = asked.rng.choice([1, 2, 3, 10, 50, 1000])
    what, answer = asked.read("/distribution", buckets=most, method=method)
    step = asked.exact(1)
    buckets = [(_exact(b["from"]), _exact(b["to"]), b["members"]) for b in answer["buckets"]]
    if not asked.listing.total:
        same(what, [], buckets)
        return
    if len(buckets) > most:
        raise AssertionError(f"{what}: {len(buckets)} buckets: {buckets}")
    for low, high, _ in buckets:
        if low is None or high is None or low > high:
            raise AssertionError(f"{what}: a bucket from {low} to {high}")
    counts = [(low, high, asked.listing.between(*(int(end / step) for end in (low, high)))) for low, high, _ in buckets]
    same(what, counts, buckets)
    same(what, [high + step for _, high, _ in buckets[:-1]], [low for low, _, _ in buckets[1:]])
    same(what, asked.listing.total, sum(members for _, _, members in buckets))


def compare_gone(asked: Asked, method: str) -> None:
    """A period that is no longer kept says so."""
    calendar = asked.model.calendar
    before = calendar.before(asked.window, asked.on)
    while before is not None:
        if not calendar.is_readable(asked.window, before, asked.now):
            asked.refused("period-gone", method=method, period=calendar.named(asked.window, before))
            return
        before = calendar.before(asked.window, before)


READS: Final[tuple[Read, ...]] = (
    compare_positions,
    compare_around,
    compare_ranks,
    compare_group,
    compare_scores,
    compare_percentiles,
    compare_distribution,
    compare_gone,
)


def compare_members(
    stack: Stack,
    model: BoardModel,
    board: str,
    now: datetime,
    rng: random.Random,
    methods: Sequence[str] = METHODS,
) -> None:
    """What a board says of each member, of one who is not there, and of one who is gone."""
    path = f"/boards/{board}/member"
    for member in sorted({*model.members, *model.removed, rng.choice(STRANGERS)}):
        ranks = rng.random() < 0.8
        method = rng.choice([None, *methods]) if ranks else None
        arguments = {"id": member, "ranks": "true" if ranks else None, "method": method}
        what = _words("GET", path, arguments, now)
        status, answer = stack.get(path, **arguments)
        if member not in model.members:
            same(what, (404, "urn:standings:no-such-member"), (status, answer.get("type")), answer)
            continue
        same(what, 200, status, answer)
        expected = {
            "board": board,
            "member": member,
            "hidden": model.members[member],
            "metrics": {
                name: _metric_of(model, name, member, now, (method or METHODS[0]) if ranks else None)
                for name in model.metrics
            },
        }
        found = {name: answer.get(name, "(missing)") for name in ("board", "member", "hidden")}
        metrics = {each["metric"]: _metric_found(each, ranks=ranks) for each in answer["metrics"]}
        same(what, expected, {**found, "metrics": metrics})


def _metric_of(model: BoardModel, metric: str, member: str, now: datetime, method: str | None) -> dict[str, Any]:
    rules = model.metrics[metric]

    def exact(window: str) -> Decimal | None:
        placed = model.score(metric, window, now, member)
        return None if placed is None else Decimal(placed.score).scaleb(-rules.precision)

    windows: dict[str, Any] = {}
    for window in rules.windows:
        windows[window] = {"period": model.calendar.bounds(window, now), "score": exact(window)}
        if method is not None:
            listing = model.listing(metric, window, now)
            line = listing.line(member, method)
            windows[window] |= {
                "rank": line and line[0],
                "percentile": line and listing.percentile(line[2]),
                "total": line and listing.total,
            }
    return {"score": exact("all"), "windows": windows}


def _metric_found(found: Mapping[str, Any], *, ranks: bool) -> dict[str, Any]:
    windows: dict[str, Any] = {}
    for each in found["windows"]:
        windows[each["window"]] = {"period": _bounds(each["period"]), "score": _exact(each["score"])}
        if ranks:
            windows[each["window"]] |= {
                "rank": each["rank"],
                "percentile": _exact(each["percentile"]),
                "total": each["total"],
            }
    return {"score": _exact(found["score"]), "windows": windows}


def _compare_page(
    asked: Asked,
    what: str,
    page: dict[str, Any],
    lines: Sequence[Line],
    start: int,
    stop: int,
    *,
    beyond: bool = False,
) -> None:
    """A page that holds the lines from `start` up to `stop`: its entries, and whether the list goes on at its ends."""
    found = [(entry["rank"], entry["member"], _exact(entry["score"])) for entry in page["entries"]]
    same(what, asked.lines(lines[start:stop]), found)
    same(f"{what}: whether the list goes on", stop < len(lines), page["next"] is not None)
    if lines or not beyond:
        same(f"{what}: whether something is before", start > 0, page["previous"] is not None)


def _may_ask_previous(asked: Asked) -> bool:
    """Not where the period before can no longer be read: what is null then is not the judge's to say."""
    return (asked.window == "all" or asked.previous is not None) and asked.rng.random() < 0.8


def _rank(asked: Asked, member: str, method: str, *, with_previous: bool) -> dict[str, Any]:
    line = asked.listing.line(member, method)
    expected: dict[str, Any] = {"rank": None, "score": None, "percentile": None}
    if line is not None:
        rank, _, score = line
        expected = {"rank": rank, "score": asked.exact(score), "percentile": asked.listing.percentile(score)}
    if with_previous:
        before = asked.previous.line(member, method) if asked.previous is not None else None
        expected["previous_rank"] = before and before[0]
    return expected


def _numbers(found: Mapping[str, Any], *, previous: bool) -> dict[str, Any]:
    """What an answer says of a member's rank; `previous_rank` must be there exactly where it was asked for."""
    numbers = {name: found.get(name, "(missing)") for name in ("rank", "score", "percentile")}
    numbers |= {name: _exact(numbers[name]) for name in ("score", "percentile")}
    if previous or "previous_rank" in found:
        numbers["previous_rank"] = found.get("previous_rank", "(missing)")
    return numbers


def _exact(number: Any) -> Any:
    """A JSON number as a decimal: the shortest text of a float is what stood in the answer."""
    return Decimal(str(number)) if isinstance(number, int | float) and not isinstance(number, bool) else number


def _bounds(period: Any) -> Any:
    """The ends of a period as instants in UTC."""
    if not isinstance(period, dict) or period.keys() != {"start", "end"}:
        return period
    return tuple(
        datetime.fromisoformat(period[end]).astimezone(UTC) if period[end] else None for end in ("start", "end")
    )


def _words(method: str, path: str, arguments: Mapping[str, Any], now: datetime) -> str:
    given = "&".join(f"{name}={value}" for name, value in arguments.items() if value is not None)
    return f"{method} {path}?{given} at {now.isoformat()}"


def same(what: str, expected: object, found: object, answer: object = None) -> None:
    """Fail with both values where they differ."""
    if expected != found:
        more = f"\n  answer:  {answer!r}" if answer is not None else ""
        raise AssertionError(f"{what}\n  judge:   {expected!r}\n  product: {found!r}{more}")
