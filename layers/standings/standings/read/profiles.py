"""Profiles in answers: the profiles of the members in an answer, and the search for members by name."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from standings.aws.dynamodb.profiles import Match, Profiles
from standings.aws.dynamodb.scores import Scores
from standings.domain.boards import check_member
from standings.domain.errors import NotFoundError, bad_argument
from standings.domain.profiles import MAX_LOOKED_AT, MIN_SEARCH_LENGTH, Profile, begins_with, search_form
from standings.read.reader import Request, naming
from standings.runtime.clock import Clock, TtlCache

# Profiles: one by itself, and those of all members in another answer.

PROFILE_TTL_S: Final = 55
"""Seconds for which a process caches a profile. With the delay of an eventually consistent read, a change shows
everywhere within a minute."""
_NONE = Profile()  # Stands for a member without a profile: the cache holds no None


class ProfileCache:
    """The profiles of a stack. `show` reads them through a cache that all requests of a process share."""

    def __init__(self, store: Profiles, clock: Clock) -> None:
        self.store = store
        self._cache: TtlCache[str, Profile] = TtlCache(clock, PROFILE_TTL_S)

    def profile(self, request: Request, member: str) -> dict[str, Any]:
        """A member's profile as it is now, such as `{"name": "Ada", …}`. NotFoundError if there is none."""
        check_member("id", member)
        profile = request.read(self.store.profile, member)
        if profile is None:
            raise NotFoundError("no-such-member", "No such member", f"{member!r} has no profile")
        return profile.fields()

    def show(self, request: Request, answer: dict[str, Any]) -> dict[str, Any]:
        """Add `profile` to each object of the answer that names a `member`: None if the member has no profile."""
        shown = list(naming(answer, "member"))
        known = self._known(request, list(dict.fromkeys(one["member"] for one in shown)))
        for one in shown:
            profile = known[one["member"]]
            one["profile"] = None if profile is _NONE else profile.fields()
        return answer

    def _known(self, request: Request, members: list[str]) -> dict[str, Profile]:
        known = {member: profile for member in members if (profile := self._cache.get(member)) is not None}
        unknown = [member for member in members if member not in known]
        if unknown:
            read_at = self._cache.instant()
            found = request.read(self.store.profiles, unknown)
            for member in unknown:
                known[member] = found.get(member, _NONE)
                self._cache.put(member, known[member], read_at)
        return known


# Searches for members by the beginning of their names.

STEP: Final = 50
"""Profiles that a search on a board reads at a time. Mostly the first fifty hold enough members of the board."""

Keep = Callable[[list[Match]], list[Match]]
ReadMatches = Callable[[Match | None, int], list[Match]]  # Reads up to so many matches that follow one


class Search:
    """Searches profiles by name, those of a board's members or all. With `needs_board` a search must name a board."""

    def __init__(self, people: ProfileCache, scores: Scores, *, needs_board: bool) -> None:
        self._people = people
        self._scores = scores
        self._needs_board = needs_board

    def search(self, request: Request, *, name: str, board: str | None, limit: int) -> dict[str, Any]:
        """Up to `limit` members whose names begin with `name`, without regard to case and marks, in the order of names.

        `{"members": [{"member": "u7", "profile": {…}}], "complete": True}`; `complete` says that there are no others.
        With `board`, only members of that board who are not hidden there. InvalidArgumentError for a `name` that is too
        short, or a missing board.
        """
        beginning = search_form(name)
        if len(beginning) < MIN_SEARCH_LENGTH:
            raise bad_argument("name", f"expected at least {MIN_SEARCH_LENGTH} letters, got {len(beginning)}")
        matches = partial(self._people.store.matches, beginning)
        if board is not None:
            found, complete = _search(request, matches, beginning, limit, STEP, self._on_board(request, board))
        elif self._needs_board:
            detail = "is missing: where anyone may read, say on which board (or deploy with OpenSearch=true)"
            raise bad_argument("board", detail)
        else:
            found, complete = _search(request, matches, beginning, limit, limit + 1, lambda matches: matches)
        return {
            "members": [{"member": one.member, "profile": one.profile.fields()} for one in found],
            "complete": complete,
        }

    def _on_board(self, request: Request, board: str) -> Keep:
        """A filter that keeps members of the board who are not hidden. NotFoundError if no family matches the board."""
        request.family(board)

        def keep(matches: list[Match]) -> list[Match]:
            images = request.read(self._scores.images, [(board, one.member) for one in matches])
            shown = {member for (_, member), image in images.items() if not (image.removed or image.hidden)}
            return [one for one in matches if one.member in shown]

        return keep


def _search(
    request: Request, read: ReadMatches, beginning: str, limit: int, step: int, keep: Keep
) -> tuple[list[Match], bool]:
    """Up to `limit` matches that `keep` keeps, and whether there are no others. Reads `step` matches at a time."""
    found: list[Match] = []
    after: Match | None = None
    for _ in range(0, MAX_LOOKED_AT, step):
        matches = request.read(read, after, step)
        # The index holds the first characters of a long name.
        found += keep([one for one in matches if begins_with(one.profile.name or "", beginning)])
        if len(found) > limit:
            return found[:limit], False
        if len(matches) < step:
            return found, True
        after = matches[-1]
    return found, not request.read(read, after, 1)
