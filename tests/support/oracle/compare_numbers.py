"""Compares ranks, scores, percentiles and histograms with the judge's."""

from collections.abc import Mapping
from decimal import Decimal
from itertools import islice
from typing import Any

from tests.support.oracle.asked import MAX_GROUP, STRANGERS, Asked, describe, exact, instants_of, same


def compare_ranks(ranking: Asked, method: str) -> None:
    """Compare members' ranks, mostly with the previous rank. For members that are not ranked the answer is 404."""
    for member in ranking.members():
        with_previous = _may_ask_previous(ranking)
        what, answer = ranking.read("/rank", member=member, method=method, previous="true" if with_previous else None)
        same(what, member, answer["member"])
        same(
            what, _rank(ranking, member, method, with_previous=with_previous), _numbers(answer, previous=with_previous)
        )
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
        expected = []
        for on, listing in zip(instants, listings, strict=True):
            rank, _, score = listing.line(member, method) or (None, member, None)
            shown = None if score is None else ranking.exact(score)
            expected.append((calendar.bounds(ranking.window, on), rank, shown, listing.total))
        actual = [
            (instants_of(each["period"]), each["rank"], exact(each["score"]), each["total"])
            for each in answer["periods"]
        ]
        same(what, (member, expected), (answer["member"], actual))


def compare_group(ranking: Asked, method: str) -> None:
    """Compare the ranks of a group of members and their ranks within it. Some of the members are not ranked."""
    candidates = [*ranking.model.members, *ranking.model.removed - ranking.model.members.keys(), *STRANGERS]
    group = ranking.rng.sample(sorted(candidates), ranking.rng.randint(1, min(len(candidates), MAX_GROUP)))
    with_previous = _may_ask_previous(ranking)
    arguments = {"method": method, "period": ranking.period, "previous": "true" if with_previous else None}
    status, answer = ranking.stack.post(f"{ranking.path}/ranks", {"members": group}, **arguments)
    what = describe("POST", f"{ranking.path}/ranks {group}", arguments, ranking.now)
    ranking.checked(what, "/ranks", status, answer, method)
    within = ranking.listing.among(group, method)
    expected = [
        {"member": member, "group_rank": within.get(member)}
        | _rank(ranking, member, method, with_previous=with_previous)
        for member in group
    ]
    actual = [
        {"member": entry["member"], "group_rank": entry["group_rank"]} | _numbers(entry, previous=with_previous)
        for entry in answer["entries"]
    ]
    same(what, expected, actual)


def compare_scores(ranking: Asked, method: str) -> None:
    """Compare the ranks of scores, some of which no member has."""
    for score in ranking.scores():
        what, answer = ranking.read("/rank", score=f"{ranking.exact(score):f}", method=method)
        expected = {**ranking.listing.of_score(score, method)._asdict(), "score": ranking.exact(score)}
        actual = {name: answer.get(name, "(missing)") for name in ("rank", "above", "at", "below")}
        same(what, expected, {**actual, "score": exact(answer["score"])})


def compare_percentiles(ranking: Asked, method: str) -> None:
    """Compare the scores at round and random percentiles, and at a percentile where the answer changes."""
    total = ranking.listing.total
    boundary = Decimal(100 * ranking.rng.randint(1, total) / Decimal(total)).quantize(Decimal("1e-9")) if total else 1
    percentiles = [
        Decimal(100),
        Decimal(ranking.rng.randint(1, 10**11)).scaleb(-9),
        Decimal(ranking.rng.randint(1, 100)),
        boundary,
    ]
    for p in percentiles:
        what, answer = ranking.read("/percentile", p=f"{p:f}", method=method)
        score = ranking.listing.score_at(Decimal(p))
        expected = (Decimal(p), None if score is None else ranking.exact(score))
        same(what, expected, (exact(answer["p"]), exact(answer["score"])))


def compare_distribution(ranking: Asked, method: str) -> None:
    """Compare a histogram. Each bucket must have the right count, and together they must hold every member once."""
    most = ranking.rng.choice([1, 2, 3, 10, 50, 1000])
    what, answer = ranking.read("/distribution", buckets=most, method=method)
    step = ranking.exact(1)
    buckets = [(exact(b["from"]), exact(b["to"]), b["members"]) for b in answer["buckets"]]
    if not ranking.listing.total:
        same(what, [], buckets)
        return
    if len(buckets) > most:
        raise AssertionError(f"{what}: expected at most {most} buckets, got {len(buckets)}: {buckets}")
    for low, high, _ in buckets:
        if low is None or high is None or low > high:
            raise AssertionError(
                f"{what}: expected a bucket from a score to a higher one, got one from {low} to {high}"
            )
    counts = [
        (low, high, ranking.listing.between(*(int(end / step) for end in (low, high)))) for low, high, _ in buckets
    ]
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
    expected: dict[str, Any] = {"rank": None, "score": None, "percentile": None}
    if line is not None:
        rank, _, score = line
        expected = {"rank": rank, "score": ranking.exact(score), "percentile": ranking.listing.percentile(score)}
    if with_previous:
        before = ranking.previous.line(member, method) if ranking.previous is not None else None
        expected["previous_rank"] = before and before[0]
    return expected


def _numbers(answer: Mapping[str, Any], *, previous: bool) -> dict[str, Any]:
    """Return the figures of an answer about a rank, with `previous_rank` if it was requested or is present."""
    numbers = {name: answer.get(name, "(missing)") for name in ("rank", "score", "percentile")}
    numbers |= {name: exact(numbers[name]) for name in ("score", "percentile")}
    if previous or "previous_rank" in answer:
        numbers["previous_rank"] = answer.get("previous_rank", "(missing)")
    return numbers
