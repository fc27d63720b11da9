"""Searches for members by the beginning of their names."""

from collections.abc import Callable
from typing import Any, Final

from standings.domain.errors import bad_argument, check_range
from standings.domain.profiles.searching import MAX_FOUND, MAX_LOOKED_AT, MIN_SEARCH_LENGTH, begins_with, search_form
from standings.ports.profiles import Match, Profiles
from standings.ports.scores import Scores
from standings.read.profiles.shown import People
from standings.read.reader import Request
from standings.runtime.retry import retrying

STEP: Final = 50
"""Profiles that a search on a board looks at together: mostly there are enough members among the first."""

Keep = Callable[[list[Match]], list[Match]]


class Search:
    """Searches profiles, on a board or in all. With `needs_board` a search must name a board."""

    def __init__(self, people: People, scores: Scores, *, needs_board: bool) -> None:
        self._people = people
        self._scores = scores
        self._needs_board = needs_board

    def search(self, request: Request, *, name: str, board: str | None, limit: int) -> dict[str, Any]:
        """Members whose names begin like `name`, in the order of names; on a board those that are not hidden there.

        `complete` says that there are no others.
        """
        beginning = search_form(name)
        if len(beginning) < MIN_SEARCH_LENGTH:
            raise bad_argument("name", f"expected at least {MIN_SEARCH_LENGTH} letters, got {len(beginning)}")
        check_range("limit", limit, 1, MAX_FOUND)
        profiles = self._people.profiles(request)
        if board is not None:
            found, complete = _search(profiles, beginning, limit, STEP, self._on_board(request, board))
        elif self._needs_board:
            detail = "is missing: where anyone may read, say on which board (or deploy with OpenSearch=true)"
            raise bad_argument("board", detail)
        else:
            found, complete = _search(profiles, beginning, limit, limit + 1, lambda matches: matches)
        return {
            "members": [{"member": one.member, "profile": one.profile.fields()} for one in found],
            "complete": complete,
        }

    def _on_board(self, request: Request, board: str) -> Keep:
        """Keep members that the board has and does not hide."""
        request.family(board)
        scores = retrying(self._scores, request.backoff)

        def keep(matches: list[Match]) -> list[Match]:
            images = scores.images([(board, one.member) for one in matches])
            shown = {member for (_, member), image in images.items() if not (image.removed or image.hidden)}
            return [one for one in matches if one.member in shown]

        return keep


def _search(profiles: Profiles, beginning: str, limit: int, step: int, keep: Keep) -> tuple[list[Match], bool]:
    """Up to `limit` matches to keep, and whether there are no others. It looks at `step` matches at a time."""
    found: list[Match] = []
    after: Match | None = None
    for _ in range(0, MAX_LOOKED_AT, step):
        matches = profiles.matches(beginning, after, step)
        # The index holds the first characters of a long name.
        found += keep([one for one in matches if begins_with(one.profile.name or "", beginning)])
        if len(found) > limit:
            return found[:limit], False
        if len(matches) < step:
            return found, True
        after = matches[-1]
    return found, not profiles.matches(beginning, after, 1)
