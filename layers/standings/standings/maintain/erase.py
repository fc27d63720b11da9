"""Erases a person: removes a member from every board, whatever the boards are doing meanwhile.

A removal is an ordinary change of the member's item, made on condition of its version. So rankings follow as they do
from an event, and a rebuild or a deletion that meets the member finds it removed. A later event would bring it back.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from standings.catalog.board_catalog import BoardCatalog
from standings.domain.boards.names import check_member
from standings.domain.members.member_item import Image, removed
from standings.maintain.rebuild.rewrite_members import RewriteMembers
from standings.ports.errors import StoreUnavailableError
from standings.ports.rankings import MAX_ACTIONS
from standings.ports.scores import Scores
from standings.runtime.retry import Backoff, Clock, with_retry

MAX_NAMED: Final = 1_000  # Boards after which an answer is given, so that it does not become too long
_BUSY: Final = "others kept writing the member: stop what posts for it, then erase it again"
_NO_FAMILY: Final = (
    "no family in boards.toml matches it: its scores are removed, its rankings keep the member until a family matches "
    "it again and it is rebuilt"
)

Forget = Callable[[str], bool]
"""Removes what is known of a member beside the boards; whether there was anything. It may be called again."""


@dataclass(slots=True)
class _Done:
    """What one call has done: `after` is the last board of which nothing is left to do."""

    after: str | None
    profile: bool = False
    looked_at: int = 0
    boards: list[str] = field(default_factory=list)
    problems: list[dict[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Erase:
    """Removes a member from all boards that are listed, in the order of their names."""

    catalog: BoardCatalog
    scores: Scores
    forget: Forget
    clock: Clock

    def erase(self, deadline: float, *, member: str, cursor: str | None = None) -> dict[str, Any]:
        """Go on after the board `cursor` until a deadline of the monotonic clock; to be called again until `done`.

        `boards` are those that the member was removed from in this call, `profile` says whether there was one, and
        `problems` names boards that have to be looked at. InvalidArgumentError: no member's id.
        StoreUnavailableError: nothing could be done, try again later.
        """
        check_member("member", member)
        backoff = self.clock.backoff(deadline)
        so_far = _Done(cursor)
        done = False
        try:
            if cursor is None:
                so_far.profile = with_retry(partial(self.forget, member), backoff)
            while not (done or backoff.expired) and len(so_far.boards) < MAX_NAMED:
                names = with_retry(partial(self.catalog.records.names, so_far.after, MAX_ACTIONS), backoff)
                self._remove(names, member, deadline, so_far, backoff)
                so_far.looked_at += len(names)
                so_far.after = names[-1] if names else so_far.after
                done = len(names) < MAX_ACTIONS
        except StoreUnavailableError:
            if so_far.after == cursor and not (so_far.boards or so_far.profile):
                raise
        return {
            "done": done,
            "cursor": so_far.after,
            "looked_at": so_far.looked_at,
            "boards": so_far.boards,
            "profile": so_far.profile,
            "problems": so_far.problems,
        }

    def _remove(self, boards: Sequence[str], member: str, deadline: float, so_far: _Done, backoff: Backoff) -> None:
        """Remove the member from some boards, all in one transaction if nobody else writes it."""
        keys = [(board, member) for board in boards]
        images = with_retry(lambda: self.scores.images(keys, consistent=True), backoff)
        there = [image for image in images.values() if not image.removed]
        rewrites = RewriteMembers(self.scores, self.clock, deadline, self._removed)
        try:
            rewrites.run([there] if there else [])
        finally:
            gone = sorted(image.board for image in rewrites.done)
            strangers = [board for board in gone if self.catalog.boards.family(board) is None]
            so_far.boards += gone
            so_far.problems += ({"board": board, "why": _NO_FAMILY} for board in strangers)
        so_far.problems += ({"board": board, "why": _BUSY} for board in sorted(image.board for image in rewrites.busy))

    def _removed(self, image: Image) -> Image:
        return removed(image, max(self.clock.now(), image.written_at_ms))
