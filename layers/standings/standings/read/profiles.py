"""Profiles: one by itself, the search by name, and those of the members in another answer, as well as their notes."""

from collections.abc import Iterator
from typing import Any, Final

import orjson

from standings.aws.dynamodb.profiles import Match
from standings.domain.boards import Ranking, check_member, family_of
from standings.domain.errors import NotFoundError, bad_argument
from standings.domain.members import aggregate_in_period, place_if_ranked
from standings.domain.profiles import MAX_LOOKED_AT, MIN_SEARCH_LENGTH, Profile, search_form
from standings.read.session import ReadSession, note_of, scored

STEP: Final = 50  # Profiles that a search on a board reads at a time: mostly these hold enough members of the board
_NONE: Final = Profile()  # Stands for a member without a profile: the cache holds no None


def profile(session: ReadSession, member: str) -> dict[str, Any]:
    """A member's profile as it is now, such as `{"name": "Ada", …}`. NotFoundError if there is none."""
    check_member("id", member)
    found = session.retry(session.tables.profiles.profile, member)
    if found is None:
        raise NotFoundError("no-such-member", "No such member", f"{member!r} has no profile")
    return found.fields()


def show_profiles(session: ReadSession, answer: dict[str, Any]) -> dict[str, Any]:
    """The answer, in which each object with a `member` also has its `profile`, or None: up to a minute old."""
    shown = list(naming(answer, "member"))
    cache = session.tables.known_profiles
    members = dict.fromkeys(one["member"] for one in shown)
    known = {member: found for member in members if (found := cache.get(member)) is not None}
    unknown = [member for member in members if member not in known]
    if unknown:
        read_at = cache.instant()
        read = session.retry(session.tables.profiles.profiles, unknown)
        for member in unknown:
            known[member] = read.get(member, _NONE)
            cache.put(member, known[member], read_at)
    for one in shown:
        found = known[one["member"]]
        one["profile"] = None if found is _NONE else found.fields()
    return answer


def show_notes(session: ReadSession, ranking: Ranking, answer: dict[str, Any]) -> dict[str, Any]:
    """The answer, in which each object with a `member` and a `score` also has its `note`, or None.

    Items are read eventually consistently. A note that belongs to another score than the one shown is left out.
    """
    shown = list(naming(answer, "member", "score"))
    members = dict.fromkeys(one["member"] for one in shown if one["score"] is not None)
    keys = [(ranking.board, member) for member in members]
    images = session.retry(session.tables.scores.images, keys) if keys else {}
    for one in shown:
        image = images.get((ranking.board, one["member"]))
        found = None if image is None else aggregate_in_period(image, ranking.metric, ranking.window, ranking.period)
        there = None if image is None else place_if_ranked(image, ranking)
        numbers = scored(None if there is None else there.values, ranking.metric)
        is_same = orjson.dumps(numbers) == orjson.dumps({name: one[name] for name in numbers})
        one["note"] = note_of(found) if is_same else None
    return answer


def naming(answer: Any, *keys: str) -> Iterator[dict[str, Any]]:
    """The objects in an answer that have all these keys, at any depth."""
    if isinstance(answer, dict):
        if all(key in answer for key in keys):
            yield answer
        answer = list(answer.values())
    if isinstance(answer, list):
        for value in answer:
            yield from naming(value, *keys)


def search(
    session: ReadSession, *, name: str, board: str | None, limit: int, needs_board: bool = False
) -> dict[str, Any]:
    """Up to `limit` members whose names begin with `name`, without regard to case and marks, in the order of names.

    `{"members": [{"member": "u7", "profile": {…}}], "complete": True}`; `complete` says that there are no others.
    With `board`, only members of that board who are not hidden there. Raises InvalidArgumentError for a `name` that is
    too short or a board that is missing and needed, and NotFoundError if no family matches the board.
    """
    beginning = search_form(name)
    if len(beginning) < MIN_SEARCH_LENGTH:
        raise bad_argument("name", f"expected at least {MIN_SEARCH_LENGTH} letters, got {len(beginning)}")
    if board is not None:
        family_of(session.boards, board)
        session.check_open(board)
    elif needs_board:
        detail = "is missing: where anyone may read, say on which board (or deploy with OpenSearch=true)"
        raise bad_argument("board", detail)
    read, step = session.tables.profiles.matches, limit + 1 if board is None else STEP
    found: list[Match] = []
    after: Match | None = None
    is_last = False
    for _ in range(0, MAX_LOOKED_AT, step):
        matches = session.retry(read, beginning, after, step)
        # The index holds the first characters of a long name.
        named = [one for one in matches if search_form(one.profile.name or "").startswith(beginning)]
        found += named if board is None else _on_board(session, board, named)
        is_last = len(matches) < step
        if is_last or len(found) > limit:
            break
        after = matches[-1]
    complete = len(found) <= limit and (is_last or not session.retry(read, beginning, after, 1))
    return {
        "members": [{"member": one.member, "profile": one.profile.fields()} for one in found[:limit]],
        "complete": complete,
    }


def _on_board(session: ReadSession, board: str, matches: list[Match]) -> list[Match]:
    """Those matches that are members of the board and not hidden there."""
    images = session.retry(session.tables.scores.images, [(board, one.member) for one in matches])
    session.check_open(board, images.values())
    shown = {member for (_, member), image in images.items() if not (image.removed or image.hidden)}
    return [one for one in matches if one.member in shown]
