"""Compares pages of a list with the judge's."""

from collections.abc import Sequence
from typing import Any

from tests.support.oracle.asked import MAX_GROUP, SAMPLE, Asked, exact, same
from tests.support.oracle.listing import Line


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


def compare_around(ranking: Asked, method: str) -> None:
    """Compare members with their neighbours. For members that are not ranked the answer is 404."""
    lines = ranking.listing.lines(method)
    for member in ranking.members():
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
        _compare_page(ranking, what, page, lines, start, start + limit, beyond=start == len(lines))
        place = next((position for position, line in enumerate(lines) if line[1] == member), None)
        if place is None:
            same(what, None, page["me"])
            continue
        rank, _, score = lines[place]
        expected = (rank, member, ranking.exact(score), ranking.listing.percentile(score))
        me = page["me"]
        same(what, expected, (me["rank"], me["member"], exact(me["score"]), exact(me["percentile"])))
        before = ranking.lines(lines[max(0, place - 1) : place])
        ahead = [me["ahead"]] if me["ahead"] is not None else []
        same(what, before, [(entry["rank"], entry["member"], exact(entry["score"])) for entry in ahead])


def compare_notes(ranking: Asked, method: str) -> None:
    """Compare the note beside each score, where the metric keeps notes."""
    if not ranking.rules.notes:
        return
    what, page = ranking.read(method=method, limit=1_000, notes="true")
    notes = {entry["member"]: entry["note"] for entry in page["entries"]}
    same(what, {member: ranking.note(member) for member in notes}, notes)


def _compare_page(
    ranking: Asked,
    what: str,
    page: dict[str, Any],
    lines: Sequence[Line],
    start: int,
    stop: int,
    *,
    beyond: bool = False,
) -> None:
    """Compare a page with `lines[start:stop]`: its entries, and whether it has a next and a previous page."""
    actual = [(entry["rank"], entry["member"], exact(entry["score"])) for entry in page["entries"]]
    same(what, ranking.lines(lines[start:stop]), actual)
    same(f"{what}: has a next page", stop < len(lines), page["next"] is not None)
    if lines or not beyond:
        same(f"{what}: has a previous page", start > 0, page["previous"] is not None)
