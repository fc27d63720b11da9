"""Compares every read of a board over HTTP with the judge, a `BoardModel`. Call `compare_every_read`.

It only reads, as a client does, so a test can call it at any time and any number of times. For every ranked metric and
window it compares the current period and one earlier period that can be read. It compares whole lists by every ranking
method, and a random sample of all other reads. At the first difference it raises an AssertionError. That gives the
request, the answer of the judge and the answer of the product.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import combinations, islice
from operator import itemgetter
from typing import Any, Final

from tests.support.aws.stack import Stack
from tests.support.dynamodb.requests import Requests
from tests.support.oracle.model import MAX_UNITS, METHODS, BoardModel, Line, Listing, Metric, Placed, TieBreaks

SAMPLE: Final = 3
"""How many members, positions or scores each comparison tries."""
MAX_GROUP: Final = 100
"""The most members that one request may name, and the largest radius."""
FURTHEST: Final = 10**15 - 1
"""The largest score tried, in units. As a float it is exact with any number of decimals."""
STRANGERS: Final = ("nobody", "m\U0001f600")
"""Members that no board has."""


@dataclass(frozen=True)
class Asked:
    """One period of one ranking, and the product and the judge that are compared on it."""

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
        """The `period` argument. For the current period it is sometimes left out."""
        named = self.model.calendar.named(self.window, self.on)
        return self.rng.choice([None, named]) if self.on == self.now else named

    @property
    def previous(self) -> Listing | None:
        """The list of the period before, or None if there is none that can be read."""
        before = self.model.calendar.before(self.window, self.on)
        if before is None or not self.model.calendar.is_readable(self.window, before, self.now):
            return None
        return self.model.listing(self.metric, self.window, before)

    def exact(self, units: int) -> Decimal:
        return Decimal(units).scaleb(-self.rules.precision)

    def shown(self, one: Line | Placed | None) -> dict[str, Any]:
        """A score as an answer shows it, with its tie-breaks where the ranking has some; None where there is none."""
        return shown(self.model, self.metric, one)

    def entries(self, lines: Sequence[Line]) -> list[dict[str, Any]]:
        return [{"rank": line.rank, "member": line.member, **self.shown(line)} for line in lines]

    def members(self, most: int = SAMPLE) -> list[str]:
        """Return up to `most` random ranked members."""
        ranked = [one.member for one in self.listing.placed]
        return self.rng.sample(ranked, min(most, len(ranked)))

    def unranked(self) -> dict[str, str]:
        """Return some members that are not ranked, each with the type of the problem that the API must answer."""
        ranked = {one.member for one in self.listing.placed}
        missing = [member for member in self.model.members if member not in ranked]
        some = self.rng.sample(missing, min(SAMPLE, len(missing)))
        removed = sorted(self.model.removed - self.model.members.keys())
        return {
            **dict.fromkeys(some, "not-ranked"),
            **dict.fromkeys(
                [*self.rng.sample(removed, min(1, len(removed))), self.rng.choice(STRANGERS)], "no-such-member"
            ),
        }

    def note(self, member: str) -> Any:
        """Return the note of a ranked member's score."""
        return self.model.note(self.metric, self.window, self.on, member)

    def scores(self) -> list[int]:
        """Return some scores that members have, some scores near those, and 0 or a largest or smallest score."""
        held = [one.score for one in self.listing.placed]
        some = self.rng.sample(held, min(SAMPLE, len(held)))
        near = [score + self.rng.choice([-128, -1, 1, 2, 127]) for score in some]
        scores = [*some, *near, self.rng.choice([0, FURTHEST, -FURTHEST])]
        return [max(-MAX_UNITS, min(score, MAX_UNITS)) for score in scores]

    def tie_breaks(self, score: int) -> TieBreaks | None:
        """Return tie-breaks to go with a score: those of a member, some near those, or none."""
        if not self.rules.tie_breaks or self.rng.random() < 1 / 2:
            return None
        held = [one.tie_breaks for one in self.listing.placed if one.score == score]
        some = self.rng.choice([*held, (0,) * len(self.rules.tie_breaks)])
        return tuple(units if units is None else units + self.rng.choice([0, 0, 1, -128]) for units in some)

    def asked(self, score: int, tie_breaks: TieBreaks | None) -> dict[str, Any]:
        """Return the arguments that ask for a score, and for tie-breaks if there are some."""
        numbers = None if tie_breaks is None else _numbers(self.model, self.metric, tie_breaks).values()
        joined = (
            None if numbers is None else ",".join("null" if number is None else f"{number:f}" for number in numbers)
        )
        return {"score": f"{self.exact(score):f}", "tie_breaks": joined}

    def read(self, rest: str = "", **arguments: Any) -> tuple[str, dict[str, Any]]:
        """Send a GET request. Return the request in words and the answer, after `checked`.

        If the stack counts its requests, fail beyond the bound too.
        """
        arguments.setdefault("period", self.period)
        what = describe("GET", self.path + rest, arguments, self.now)
        requests = getattr(self.stack, "dynamodb", None)
        if isinstance(requests, Requests):
            requests.take()
        status, answer = self.stack.get(self.path + rest, **arguments)
        if isinstance(requests, Requests):
            same(
                f"the work of {what}",
                "",
                excess(self.window, arguments, requests, self._skipped(arguments), len(self.listing.descending)),
            )
        return what, self.checked(what, status, answer, arguments["method"])

    def _skipped(self, arguments: Mapping[str, Any]) -> int:
        """How many equals a page at a position reads past: those ahead of its first entry, or behind its last."""
        scores = [self.listing.key(one) for one in self.listing.placed]
        rank = arguments.get("rank") or 0
        if not 0 < abs(rank) <= len(scores):
            return 0
        if rank < 0:
            return scores[rank:].count(scores[rank]) - 1
        return scores[:rank].count(scores[rank - 1]) - 1

    def checked(self, what: str, status: int, answer: dict[str, Any], method: str) -> dict[str, Any]:
        """Assert that an answer is 200 and about this ranking. Return all other fields, as `plain` gives them."""
        same(what, 200, status, answer)
        found: dict[str, Any] = plain(answer)
        expected = {
            "board": self.board,
            "metric": self.metric,
            "window": self.window,
            "period": self.model.calendar.bounds(self.window, self.on),
            "state": self.model.calendar.state(self.window, self.on, self.now),
            "final_at": self.model.calendar.final_at(self.window, self.on),
            "order": "descending" if self.rules.descending else "ascending",
            "method": method,
            "total": self.listing.total,
            "as_of": "text or null",
        }
        same(what, expected, {name: found.pop(name, "(missing)") for name in expected}, answer)
        return found

    def refused(self, kind: str, rest: str = "", **arguments: Any) -> None:
        """Send a GET request and assert that the answer is 404 with a problem of this type."""
        arguments.setdefault("period", self.period)
        status, answer = self.stack.get(self.path + rest, **arguments)
        what = describe("GET", self.path + rest, arguments, self.now)
        same(what, (404, f"urn:standings:{kind}"), (status, answer.get("type")), answer)


def plain(value: Any, name: str = "") -> Any:
    """Return a part of an answer with exact numbers and with instants."""
    found = value
    match name, value:
        case "period", {"start": start, "end": end}:
            found = tuple(edge and datetime.fromisoformat(edge).astimezone(UTC) for edge in (start, end))
        case "final_at", str():
            found = datetime.fromisoformat(value)
        case "as_of", str() | None:
            found = "text or null"
        case _, dict():
            found = {key: plain(part, key) for key, part in value.items()}
        case _, list():
            found = [plain(part) for part in value]
        case _, int() | float() if not isinstance(value, bool):
            found = Decimal(str(value))  # The shortest text of a float equals the text of the answer
    return found


def describe(method: str, path: str, arguments: Mapping[str, Any], now: datetime) -> str:
    query = "&".join(f"{name}={value}" for name, value in arguments.items() if value is not None)
    return f"{method} {path}?{query} at {now.isoformat()}"


def contradictions(answer: Mapping[str, Any]) -> list[str]:
    """Say what an answer of any read contradicts of itself, whatever was in the list when it was read."""
    method, down, total = answer["method"], answer["order"] == "descending", answer["total"]
    page, me = answer.get("entries", []), answer.get("me") or {}
    alone = [answer] if "rank" in answer and "member" in answer else []
    lines = [line for line in (*page, me, me.get("ahead") or {}, *alone) if line.get("rank") is not None]
    lines.sort(key=lambda line: -line["score"] if down else line["score"])
    found = [f"{line} of {total}" for line in (*lines, *answer.get("periods", ())) if not _is_within(line, total)]
    for one, other in combinations(lines, 2):
        if one["member"] == other["member"] and me.get("ahead") in (one, other):
            is_right = True  # Just before `me` when that was read, and somewhere else on the page
        elif one["member"] == other["member"]:
            is_right = (one["rank"], one["score"]) == (other["rank"], other["score"])
        elif one["score"] == other["score"]:
            is_right = (one["rank"] == other["rank"]) != (method == "ordinal")
        else:
            is_right = one["rank"] < other["rank"]
        if not is_right:
            found.append(f"{one} beside {other}")
    for line in [line for line in lines if "percentile" in line]:
        percentile, leads = line["percentile"], line["rank"] == 1
        # Equals of the first have 100 too, whatever their places.
        is_right = 0 < percentile <= 100 and (leads == (percentile == 100) or (method == "ordinal" and not leads))
        if method == "competition":
            is_right = percentile == 10_000 * (total - line["rank"] + 1) // total / 100
        if not is_right:
            found.append(f"{line} of {total}")
    if "above" in answer and answer["above"] + answer["at"] + answer["below"] != total:
        found.append(f"{answer} does not add up")
    return found + (_ends(answer, page, me) if "next" in answer else [])


def _is_within(line: Mapping[str, Any], total: int) -> bool:
    return line["rank"] is None or 1 <= line["rank"] <= line.get("total", total)


def _ends(answer: Mapping[str, Any], page: Sequence[Mapping[str, Any]], me: Mapping[str, Any]) -> list[str]:
    """Say where a page's ends contradict its ranks, its `total`, or `me`."""
    method, total, found = answer["method"], answer["total"], []
    if me and me["ahead"] is None and me["rank"] > 1:
        found.append(f"nobody is ahead of {me}")
    # Whoever moved away before the page was read stands in the list as it was found, but not on the page.
    is_apart = bool(me) and all(line["member"] != me["member"] for line in page)
    if not page:
        is_empty = answer["next"] is answer["previous"] is None and not is_apart
        return found + [f"nobody of {total}"] * (is_empty and total > 0)
    first, last = page[0]["rank"], page[-1]["rank"]
    if answer["previous"] is None and first != 1 + (is_apart and me["score"] != page[0]["score"] and me["rank"] == 1):
        found.append(f"the first has rank {first}")
    if method != "dense":
        until = last if method == "ordinal" else last + sum(line["rank"] == last for line in page) - 1
        is_whole = method == "ordinal" or first != last or answer["previous"] is None
        if answer["next"] is not None and total <= until:
            found.append(f"more follow {until} of {total}")
        if answer["next"] is None and is_whole and total != until and not is_apart:
            found.append(f"nobody follows {until} of {total}")
    return found


def same(what: str, expected: object, actual: object, answer: object = None) -> None:
    """Fail with both values if they differ. `what` is the request or what is compared."""
    if expected != actual:
        more = f"\n  answer:  {answer!r}" if answer is not None else ""
        raise AssertionError(f"{what}\n  judge:   {expected!r}\n  product: {actual!r}{more}")


# ---- lists


def compare_list(ranking: Asked, method: str) -> None:
    """Compare the whole list, page by page, forwards and then backwards."""
    lines = ranking.listing.lines(method)
    limit = ranking.rng.choice([ranking.rng.randint(1, len(lines) + 1), 7, 1000])
    starts = range(0, len(lines) or 1, limit)
    cursor = previous = None
    for start in starts:
        what, page = ranking.read(method=method, limit=limit, cursor=cursor)
        _compare_page(ranking, what, page, lines, start, start + limit)
        cursor, previous = page["next"], page["previous"]
    for start in reversed(starts[:-1]):
        what, page = ranking.read(method=method, limit=limit, cursor=previous)
        _compare_page(ranking, what, page, lines, start, start + limit)
        previous = page["previous"]


def compare_positions(ranking: Asked, method: str) -> None:
    """Compare pages that start at random positions, also beyond the end, and the pages next to them."""
    lines = ranking.listing.lines(method)
    for _ in range(SAMPLE):
        position, limit = ranking.rng.randint(1, len(lines) + 2), ranking.rng.randint(1, 5)
        start = min(position - 1, len(lines))
        what, page = ranking.read(method=method, rank=position, limit=limit)
        _compare_page(ranking, what, page, lines, start, start + limit, beyond=position > len(lines))
        if page["next"] is not None:
            what, following = ranking.read(method=method, cursor=page["next"], limit=limit)
            _compare_page(ranking, what, following, lines, start + limit, start + 2 * limit)
        if page["previous"] is not None and lines:
            what, before = ranking.read(method=method, cursor=page["previous"], limit=limit)
            _compare_page(ranking, what, before, lines, max(0, start - limit), start)
            if before["next"] is not None:
                what, again = ranking.read(method=method, cursor=before["next"], limit=limit)
                _compare_page(ranking, what, again, lines, start, start + limit)


def compare_last_positions(ranking: Asked, method: str) -> None:
    """Compare a page that ends at a random position, counted from the end, also beyond the beginning."""
    lines = ranking.listing.lines(method)
    behind, limit = ranking.rng.randint(0, len(lines) + 1), ranking.rng.randint(1, 5)
    stop = max(0, len(lines) - behind)
    what, page = ranking.read(method=method, rank=-1 - behind, limit=limit)
    _compare_page(ranking, what, page, lines, max(0, stop - limit), stop)


def compare_pages_from_scores(ranking: Asked, method: str) -> None:
    """Compare a page that starts at a score, which may be nobody's, and the page before it."""
    lines = ranking.listing.lines(method)
    score, limit = ranking.rng.choice(ranking.scores()), ranking.rng.randint(1, 5)
    tie_breaks = ranking.tie_breaks(score)
    found = ranking.listing.of_score(score, tie_breaks)
    what, page = ranking.read(method=method, limit=limit, **ranking.asked(score, tie_breaks))
    _compare_page(ranking, what, page, lines, found.above, found.above + limit)
    if page["previous"] is not None:
        what, before = ranking.read(method=method, cursor=page["previous"], limit=limit)
        _compare_page(ranking, what, before, lines, max(0, found.above - limit), found.above)


def compare_around(ranking: Asked, method: str) -> None:
    """Compare members with their neighbours. For members that are not ranked the answer is 404."""
    lines = ranking.listing.lines(method)
    for member in ranking.members():
        if ranking.rng.random() < 1 / 2:
            limit = ranking.rng.randint(1, len(lines) + 2)
            what, page = ranking.read(method=method, around=member, limit=limit)
            position = next(place for place, line in enumerate(lines) if line[1] == member)
            start = max(0, min(position - limit // 2, len(lines) - limit))
            _compare_page(ranking, what, page, lines, start, start + limit)
            continue
        radius = ranking.rng.randint(0, min(len(lines) + 1, MAX_GROUP))
        what, page = ranking.read(method=method, around=member, radius=radius)
        around = ranking.listing.around(member, radius, method)
        start = lines.index(around[0])
        _compare_page(ranking, what, page, lines, start, start + len(around))
    for member, kind in ranking.unranked().items():
        ranking.refused(kind, around=member, method=method)


def compare_me(ranking: Asked, method: str) -> None:
    """Compare what pages say of one member and of the entry just before it, wherever it is in the list."""
    lines = ranking.listing.lines(method)
    for member in [*ranking.members(), *ranking.unranked()]:
        start, limit = ranking.rng.randint(0, len(lines)), ranking.rng.randint(1, 5)
        what, page = ranking.read(method=method, rank=start + 1, limit=limit, me=member)
        place = next((position for position, line in enumerate(lines) if line[1] == member), None)
        expected = None
        if place is not None:
            (me,), ahead = ranking.entries(lines[place : place + 1]), ranking.entries(lines[max(0, place - 1) : place])
            percentile = ranking.listing.percentile(lines[place])
            expected = {**me, "percentile": percentile, "ahead": ahead[0] if ahead else None}
        _compare_page(ranking, what, page, lines, start, start + limit, beyond=start == len(lines), me=expected)


def compare_notes(ranking: Asked, method: str) -> None:
    """Compare the note beside each score, where the metric keeps notes."""
    if not ranking.rules.notes:
        return
    what, page = ranking.read(method=method, limit=1_000, notes="true")
    lines = ranking.entries(ranking.listing.lines(method))
    entries = [{**line, "note": ranking.note(line["member"])} for line in lines]
    same(what, {"entries": entries, "next": None, "previous": None}, page)


def _compare_page(
    ranking: Asked,
    what: str,
    page: dict[str, Any],
    lines: Sequence[Line],
    start: int,
    stop: int,
    *,
    beyond: bool = False,
    **more: Any,
) -> None:
    """Compare a page with `lines[start:stop]`: its entries, whether it has a next and a previous page, and `more`."""
    sides = {side: page[side] is not None for side in ("next", "previous")}
    expected = {"next": stop < len(lines), "previous": start > 0 if lines or not beyond else sides["previous"]}
    same(what, {"entries": ranking.entries(lines[start:stop]), **expected, **more}, {**page, **sides})


# ---- ranks, scores, percentiles and histograms


def compare_ranks(ranking: Asked, method: str) -> None:
    """Compare members' ranks, mostly with the previous rank. For members that are not ranked the answer is 404."""
    for member in ranking.members():
        with_previous = _may_ask_previous(ranking)
        what, answer = ranking.read("/rank", member=member, method=method, previous="true" if with_previous else None)
        same(what, {"member": member} | _rank(ranking, member, method, with_previous=with_previous), answer)
    for member, kind in ranking.unranked().items():
        ranking.refused(kind, "/rank", member=member, method=method)


def compare_history(ranking: Asked, method: str) -> None:
    """Compare members' ranks in this period and those before it, also of members that are ranked in none of them."""
    most = ranking.rng.choice([1, 2, 5, 14, 100])
    calendar = ranking.model.calendar
    earlier = calendar.earlier(ranking.window, ranking.now, ranking.on)
    instants = [ranking.on, *islice(earlier, most - 1)]
    listings = [ranking.model.listing(ranking.metric, ranking.window, on) for on in instants]
    for member in [*ranking.members(), *ranking.unranked()]:
        if member not in ranking.model.members:
            ranking.refused("no-such-member", "/history", member=member, method=method, periods=most)
            continue
        what, answer = ranking.read("/history", member=member, method=method, periods=most)
        periods = []
        for on, listing in zip(instants, listings, strict=True):
            line, bounds = listing.line(member, method), calendar.bounds(ranking.window, on)
            periods.append(
                {"period": bounds, "rank": line and line.rank, **ranking.shown(line), "total": listing.total}
            )
        same(what, {"member": member, "periods": periods}, answer)


def compare_group(ranking: Asked, method: str) -> None:
    """Compare the ranks of a group of members and their ranks within it. Some of the members are not ranked."""
    candidates = [*ranking.model.members, *ranking.model.removed - ranking.model.members.keys(), *STRANGERS]
    group = ranking.rng.sample(sorted(candidates), ranking.rng.randint(1, min(len(candidates), MAX_GROUP)))
    with_previous = _may_ask_previous(ranking)
    arguments = {"method": method, "period": ranking.period, "previous": "true" if with_previous else None}
    status, answer = ranking.stack.post(f"{ranking.path}/ranks", {"members": group}, **arguments)
    what = describe("POST", f"{ranking.path}/ranks {group}", arguments, ranking.now)
    answer = ranking.checked(what, status, answer, method)
    within = ranking.listing.among(group, method)
    expected = [
        {"member": member, "group_rank": within.get(member)}
        | _rank(ranking, member, method, with_previous=with_previous)
        for member in group
    ]
    same(what, {"entries": expected}, answer)


def compare_scores(ranking: Asked, method: str) -> None:
    """Compare the ranks of scores, some of which no member has."""
    for score in ranking.scores():
        tie_breaks = ranking.tie_breaks(score)
        what, answer = ranking.read("/rank", method=method, **ranking.asked(score, tie_breaks))
        found = ranking.listing.of_score(score, tie_breaks, method)
        shown = ranking.shown(Line(found.rank, "", score, tie_breaks)) if tie_breaks is not None else None
        same(what, {**found._asdict(), **(shown or {"score": ranking.exact(score)})}, answer)


def compare_percentiles(ranking: Asked, method: str) -> None:
    """Compare the scores at round and random percentiles, and at a percentile where the answer changes."""
    total = ranking.listing.total
    boundary = Decimal(100 * ranking.rng.randint(1, total) / Decimal(total)).quantize(Decimal("1e-9")) if total else 1
    some = Decimal(ranking.rng.randint(1, 10**11)).scaleb(-9), Decimal(ranking.rng.randint(1, 100))
    for p in (Decimal(100), Decimal(0), *some, boundary):
        what, answer = ranking.read("/percentile", p=f"{p:f}", method=method)
        same(what, {"p": Decimal(p), **ranking.shown(ranking.listing.at_percentile(Decimal(p)))}, answer)


def compare_distribution(ranking: Asked, method: str) -> None:
    """Compare a histogram. Each bucket must have the right count, and together they must hold every member once."""
    most = ranking.rng.choice([1, 2, 3, 10, 50, 1000])
    what, answer = ranking.read("/distribution", buckets=most, method=method)
    step = ranking.exact(1)
    same(what, ["buckets"], [*answer])
    buckets = [(b["from"], b["to"], b["members"]) for b in answer["buckets"]]
    same(what, bool(ranking.listing.total), bool(buckets), answer)
    same(f"the buckets of {what}", True, len(buckets) <= most and all(low <= high for low, high, _ in buckets), buckets)
    counts = [(low, high, ranking.listing.between(int(low / step), int(high / step))) for low, high, _ in buckets]
    same(what, counts, buckets)
    same(what, [high + step for _, high, _ in buckets[:-1]], [low for low, _, _ in buckets[1:]])
    same(what, ranking.listing.total, sum(members for _, _, members in buckets))


def compare_gone(ranking: Asked, method: str) -> None:
    """Check that the latest period that is no longer kept answers 404 `period-gone`."""
    calendar = ranking.model.calendar
    before = calendar.before(ranking.window, ranking.on)
    while before is not None:
        if not calendar.is_readable(ranking.window, before, ranking.now):
            ranking.refused("period-gone", method=method, period=calendar.named(ranking.window, before))
            return
        before = calendar.before(ranking.window, before)


def _may_ask_previous(ranking: Asked) -> bool:
    """Decide whether to ask for the previous rank. Never if the period before can no longer be read."""
    return (ranking.window == "all" or ranking.previous is not None) and ranking.rng.random() < 0.8


def _rank(ranking: Asked, member: str, method: str, *, with_previous: bool) -> dict[str, Any]:
    line = ranking.listing.line(member, method)
    percentile = None if line is None else ranking.listing.percentile(line)
    expected: dict[str, Any] = {"rank": line and line.rank, **ranking.shown(line), "percentile": percentile}
    if with_previous:
        before = ranking.previous.line(member, method) if ranking.previous is not None else None
        expected["previous_rank"] = before and before.rank
    return expected


def shown(model: BoardModel, metric: str, one: Line | Placed | None) -> dict[str, Any]:
    """A score as an answer shows it, with its tie-breaks where the ranking has some; None where there is none."""
    rules = model.metrics[metric]
    score = None if one is None else Decimal(one.score).scaleb(-rules.precision)
    if not rules.tie_breaks:
        return {"score": score}
    numbers = None if one is None else _numbers(model, metric, one.tie_breaks)
    return {"score": score, "tie_breaks": numbers}


def _numbers(model: BoardModel, metric: str, tie_breaks: TieBreaks) -> dict[str, Decimal | None]:
    named = zip(model.metrics[metric].tie_breaks, tie_breaks, strict=True)
    return {
        name: None if units is None else Decimal(units).scaleb(-model.metrics[name].precision) for name, units in named
    }


# ---- members


def compare_members(
    stack: Stack, model: BoardModel, board: str, now: datetime, rng: random.Random, methods: Sequence[str] = METHODS
) -> None:
    """Compare what the board says of every member, of removed members and of one that never existed."""
    path, model = f"/boards/{board}/member", model.at_rest()
    for member in sorted({*model.members, *model.removed, rng.choice(STRANGERS)}):
        ranks = rng.random() < 0.8
        method = rng.choice([None, *methods]) if ranks else None
        arguments = {"id": member, "ranks": "true" if ranks else None, "method": method}
        what = describe("GET", path, arguments, now)
        status, answer = stack.get(path, **arguments)
        if member not in model.members:
            same(what, (404, "urn:standings:no-such-member"), (status, answer.get("type")), answer)
            continue
        same(what, 200, status, answer)
        metrics = [
            _metric_of(model, name, member, now, (method or METHODS[0]) if ranks else None)
            for name, rules in model.metrics.items()
            if rules.kept_with is None
        ]
        expected = {"board": board, "member": member, "hidden": model.members[member], "metrics": metrics}
        same(what, _by_name(expected), _by_name(plain(answer)))


def _by_name(card: dict[str, Any]) -> dict[str, Any]:
    """A card whose metrics and windows are in the order of their names."""
    metrics = [{**each, "windows": sorted(each["windows"], key=itemgetter("window"))} for each in card["metrics"]]
    return {**card, "metrics": sorted(metrics, key=itemgetter("metric"))}


def _metric_of(model: BoardModel, metric: str, member: str, now: datetime, method: str | None) -> dict[str, Any]:
    rules = model.metrics[metric]

    windows = []
    for window in rules.windows:
        listing = model.listing(metric, window, now)
        line = None if method is None else listing.line(member, method)
        rank, percentile, total = (line.rank, listing.percentile(line), listing.total) if line else (None,) * 3
        ranked = {} if method is None else {"rank": rank, "percentile": percentile, "total": total}
        period = model.calendar.bounds(window, now)
        scored = shown(model, metric, model.score(metric, window, now, member))
        windows.append({"window": window, "period": period, **scored, **ranked})
    total = shown(model, metric, model.score(metric, "all", now, member))["score"]
    return {"metric": metric, "score": total, "windows": windows}


# ---- every read

Read = Callable[[Asked, str], None]
"""Compares one kind of read of a ranking, by one ranking method."""


def compare_every_read(
    stack: Stack,
    model: BoardModel,
    board: str,
    now: datetime,
    rng: random.Random,
    *,
    methods: Sequence[str] = METHODS,
    most: int | None = None,
) -> None:
    """Compare every read of a board at the instant `now`, the time of the stack's clock.

    `methods` restricts the comparison to some ranking methods, `most` to so many rankings, which `rng` chooses.
    """
    model = model.at_rest()
    for ranking in rankings(stack, model, board, now, rng, most):
        for method in methods:
            compare_list(ranking, method)
        for read in READS:
            read(ranking, rng.choice(methods))
    compare_members(stack, model, board, now, rng, methods)


def rankings(
    stack: Stack, model: BoardModel, board: str, now: datetime, rng: random.Random, most: int | None = None
) -> Iterator[Asked]:
    """Yield every ranking of a board for the current and one earlier readable period, or `most` of these."""
    periods: list[tuple[str, str, datetime]] = []
    for metric, rules in model.metrics.items():
        for window in rules.windows:
            if not model.calendar.is_readable(window, now, now):
                # Other periods can be read while they run. Of seasons, none may have begun, or the last may be gone.
                kind = "period-gone" if model.calendar.held(window, now) else "no-season-yet"
                nobody = Listing([], (True,))
                Asked(stack, model, board, metric, window, now, now, rng, nobody).refused(kind, method=METHODS[0])
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
    compare_last_positions,
    compare_pages_from_scores,
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


LIST: Final = 100
"""The entries of a page that does not say how many."""
BEYOND: Final = 12
"""Items that a page may read of each list beyond twice its entries."""
REQUESTS: Final = 24
"""Requests of a call beside those of lists: for nodes and rows of up to a hundred members or periods."""
ROLLING: Final = re.compile(r"last-([0-9]+)-(?:hours|days)")


def lists_of(window: str) -> int:
    """The lists that a page of a window may merge."""
    rolling = ROLLING.fullmatch(window)
    return 1 if rolling is None else 5 if int(rolling[1]) <= 10 else 9


def excess(window: str, arguments: dict[str, Any], requests: Requests, skipped: int, components: int) -> str:
    """Say what of a read's work is too much; nothing if it is within the bound.

    A page at a position may also read so many equals that it skips. Score and tie-breaks are so many `components`:
    each has tiers of its own.
    """
    most_others = REQUESTS * components
    radius = arguments.get("radius")
    shown = int(arguments.get("limit") or LIST) if radius is None else 2 * int(radius) + 1
    listed = requests.listed
    most = 2 * shown + BEYOND + skipped
    stretches = 1 + ("around" in arguments) + ("me" in arguments)
    # An ordinal rank also counts the equals ahead, with a query for each list and shard. Their limit is the product's.
    other = requests.counts.total() - requests.counts["query", "places"]
    if arguments.get("method") == "dense":
        return "" if other <= most_others else f"{other} requests"  # Its limits are those of `docs/reference/http.md`
    if len({key.partition("/")[0] for key in listed}) > lists_of(window):
        return f"the lists {sorted(listed)}"
    if max(listed.values(), default=0) > most:
        return f"more than {most} items of a list: {dict(listed)}"
    # Each stretch takes two rounds, and one more where a root names shards that were not known.
    if requests.spans > len(listed) * (2 * stretches + 1):
        return f"{requests.spans} queries of {len(listed)} partitions"
    return "" if other <= most_others else f"{other} requests beside the lists: {dict(requests.counts)}"
