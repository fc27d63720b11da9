"""Erases a person: removes a member from every board, whatever the boards are doing meanwhile.

A removal is an ordinary change of the member's item, made on condition of its version. So rankings follow as they do
from an event, and a rebuild or a deletion that meets the member finds it removed. A later event would bring it back.

Files of settled periods are left as they are. Those of the boards that have an item of the member are read, and the
ones that hold the member are named.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from standings.aws.dynamodb.scores import Scores
from standings.catalog import BoardCatalog
from standings.domain.boards import check_member
from standings.domain.members import Image, removed
from standings.maintain.rebuild import RewriteMembers
from standings.maintain.settlements import Mentions
from standings.runtime.clock import Backoff, Clock
from standings.stores import MAX_ACTIONS, DamagedItem, StoreUnavailableError

MAX_NAMED: Final = 1_000  # Boards or files after which an answer is given, so that it does not become too long
_BUSY: Final = "others kept writing the member: stop what posts for it, then erase it again"
_NO_FAMILY: Final = (
    "no family in boards.toml matches it: its scores are removed, its rankings keep the member until a family matches "
    "it again and it is rebuilt"
)

Forget = Callable[[str], bool]
"""Removes a member's profile; returns whether there was one. It may be called again."""


@dataclass(slots=True)
class _Done:
    """What one call has done: `after` is the last board of which nothing is left to do.

    `within` is the last file that was read of the board after that one; None if none was.
    """

    after: str | None
    profile: bool = False
    within: str | None = None
    looked_at: int = 0
    files: list[str] = field(default_factory=list)
    boards: list[str] = field(default_factory=list)
    problems: list[dict[str, str]] = field(default_factory=list)

    @property
    def is_long(self) -> bool:
        """Whether the answer names as much as it may."""
        return len(self.boards) >= MAX_NAMED or len(self.files) >= MAX_NAMED

    @property
    def cursor(self) -> str | None:
        """Where the next call goes on: the last board, and the last file of the next one. No board's name has a `#`."""
        return self.after if self.within is None else f"{self.after or ''}#{self.within}"


def _begun(cursor: str | None) -> _Done:
    """What a call goes on from."""
    after, _, within = (cursor or "").partition("#")
    return _Done(after or None, within=within or None)


@dataclass(frozen=True)
class Erase:
    """Removes a member from all boards that are listed, in the order of their names."""

    catalog: BoardCatalog
    scores: Scores
    forget: Forget
    clock: Clock
    mentions: Mentions | None = None

    def erase(self, deadline: float, *, member: str, cursor: str | None = None) -> dict[str, Any]:
        """Go on after the board `cursor` until a deadline of the monotonic clock; to be called again until `done`.

        `boards` are those that the member was removed from in this call, `profile` says whether there was one, and
        `problems` names boards that somebody has to look at. `files` are settled files that hold the member.
        InvalidArgumentError: no member's id. StoreUnavailableError: nothing could be done, try again later.
        """
        check_member("member", member)
        backoff = self.clock.backoff(deadline)
        so_far = _begun(cursor)
        done = False
        try:
            if cursor is None:
                so_far.profile = backoff.retry(self.forget, member)
            while not (done or backoff.expired or so_far.is_long):
                names = backoff.retry(self.catalog.records.names, so_far.after, MAX_ACTIONS)
                known = self._remove(names, member, deadline, so_far, backoff)
                is_whole = all(self._look(name, member, name in known, so_far, backoff) for name in names)
                done = is_whole and len(names) < MAX_ACTIONS
        except StoreUnavailableError:
            if so_far.cursor == cursor and not (so_far.boards or so_far.profile):
                raise
        return {
            "done": done,
            "cursor": so_far.cursor,
            "looked_at": so_far.looked_at,
            "boards": so_far.boards,
            "profile": so_far.profile,
            "files": so_far.files,
            "problems": so_far.problems,
        }

    def _look(self, board: str, member: str, is_known: bool, so_far: _Done, backoff: Backoff) -> bool:  # noqa: FBT001
        """Look for the member in a board's files if the board has an item of it. False if the time is over."""
        after, so_far.within = so_far.within, None
        if self.mentions is not None and is_known:
            for key, holds in self.mentions.of(board, member, after or ""):
                so_far.files += [key] if holds else []
                so_far.within = key
                if backoff.expired or so_far.is_long:
                    return False
        so_far.after, so_far.within = board, None
        so_far.looked_at += 1
        return True

    def _remove(self, boards: Sequence[str], member: str, deadline: float, so_far: _Done, backoff: Backoff) -> set[str]:
        """Remove the member from some boards, all in one transaction if nobody else writes it.

        Returns the boards that have an item of the member, removed or not.
        """
        keys = [(board, member) for board in boards]
        damaged: list[DamagedItem] = []
        images = backoff.retry(self.scores.images, keys, consistent=True, damaged=damaged)
        so_far.problems += ({"board": item.board, "why": str(item)} for item in set(damaged))
        there = [image for image in images.values() if not image.removed]
        rewrites = RewriteMembers(self.scores, self.clock, self.clock.backoff(deadline), self._removed)
        try:
            rewrites.run([there] if there else [])
        finally:
            gone = sorted(image.board for image in rewrites.done)
            strangers = [board for board in gone if self.catalog.boards.family(board) is None]
            so_far.boards += gone
            so_far.problems += ({"board": board, "why": _NO_FAMILY} for board in strangers)
        so_far.problems += ({"board": board, "why": _BUSY} for board in sorted(image.board for image in rewrites.busy))
        return {board for board, _ in images}

    def _removed(self, image: Image) -> Image:
        return removed(image, self.clock.now())
