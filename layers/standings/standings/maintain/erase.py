"""Erases a person: removes a member from all its boards, whatever the boards are doing meanwhile.

A removal is an ordinary change of the member's item, made on condition of its version. So rankings follow as they do
from an event, and a rebuild or a deletion that meets the member finds it removed. A later event would bring it back.

Files of settled periods are left as they are. Those of the boards that have an item of the member are read, and the
ones that hold the member are named.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from standings.aws.dynamodb.profiles import Profiles
from standings.aws.dynamodb.scores import Scores
from standings.aws.s3 import ResultsBucket
from standings.catalog import BoardCatalog
from standings.domain.boards import check_member
from standings.domain.members import removed
from standings.maintain.member_boards import MemberBoards, Walk, walk_of
from standings.maintain.rebuild import RewriteMembers
from standings.maintain.settled_files import mentions
from standings.runtime.clock import Clock

MAX_NAMED: Final = 1_000  # Boards or files after which an answer is given, so that it does not become too long
_BUSY: Final = "others kept writing the member: stop what posts for it, then erase it again"
_NO_FAMILY: Final = (
    "no family in boards.toml matches it: its scores are removed, its rankings keep the member until a family matches "
    "it again and it is rebuilt"
)


@dataclass(frozen=True)
class Erase:
    """Removes a member from all its boards, in the order of their names.

    `results` has the files of settled periods; None on a stack that settles nothing.
    """

    catalog: BoardCatalog
    scores: Scores
    profiles: Profiles
    clock: Clock
    results: ResultsBucket | None = None

    def erase(
        self, deadline: float, *, member: str, cursor: str | None = None, every_board: bool = False
    ) -> dict[str, Any]:
        """Go on after `cursor` until a deadline in seconds of the monotonic clock; to be called again until `done`.

        Returns `{"done": True, "cursor": "#2#1795256100000#b#", "looked_at": 3, "boards": ["b"], "profile": True, …}`.

        `boards` are those that the member was removed from in this call, `profile` says whether there was one, and
        `problems` names boards that somebody has to look at. `files` are settled files that hold the member.
        `every_board` says whether all boards are looked at instead of those that the index names. The next call has
        something to do in `wait` seconds.
        InvalidArgumentError: no member's id. StoreUnavailableError: nothing could be done, try again later.
        """
        check_member("member", member)
        call = _Call(self, deadline, member, walk_of(cursor, self.clock, every_board=every_board))
        if cursor is None:
            call.profile = call.backoff.retry(self.profiles.remove, member)
        return call.run()


class _Call(MemberBoards):
    """What one call has done."""

    def __init__(self, erase: Erase, deadline: float, member: str, begun: Walk) -> None:
        super().__init__(erase.catalog, erase.scores, erase.clock, deadline, member, begun)
        self.profile = False
        self._results = erase.results
        self._looked_at = 0
        self._files: list[str] = []
        self._boards: list[str] = []

    def told(self) -> dict[str, Any]:
        return {"looked_at": self._looked_at, "boards": self._boards, "profile": self.profile, "files": self._files}

    def is_over(self) -> bool:
        return self.backoff.expired or len(self._boards) >= MAX_NAMED or len(self._files) >= MAX_NAMED

    def do(self, boards: Sequence[str]) -> None:
        """Remove the member from some boards. All but the first reading then look for it in their files."""
        known = self._remove(boards)
        if self.walk.reading == "first":
            self.walk = self.walk._replace(board=boards[-1])
        else:
            all(self._look(board, is_known=board in known) for board in boards)

    def _look(self, board: str, *, is_known: bool) -> bool:
        """Look for the member in a board's files if the board has an item of it. False if the call is over."""
        if self._results is not None and is_known:
            for key, holds in mentions(self._results, self.clock, board, self.member, self.walk.file):
                self._files += [key] if holds else []
                self.walk = self.walk._replace(file=key)
                if self.is_over():
                    return False
        self.walk = self.walk._replace(board=board, file="")
        self._looked_at += 1
        return True

    def _remove(self, boards: Sequence[str]) -> Collection[str]:
        """Remove the member from some boards, all in one transaction if nobody else writes it.

        Returns the boards that have an item of the member, removed or not.
        """
        images, damaged = self.images(boards)
        there = [image for image in images.values() if not image.removed]
        clock, backoff = self.clock, self.clock.backoff(self.deadline)
        change = RewriteMembers(self.scores, clock, backoff, lambda image: removed(image, clock.now()))
        try:
            change.run([there] if there else [])
        finally:
            gone = sorted(image.board for image in change.done)
            self._boards += gone
            strangers = [board for board in gone if self.catalog.boards.family(board) is None]
            self.problems += ({"board": board, "why": _NO_FAMILY} for board in strangers)
        if self.walk.reading != "first":  # The second reading tries again what is left
            self.problems += ({"board": board, "why": why} for board, why in damaged.items())
            self.problems += ({"board": board, "why": _BUSY} for board in sorted(image.board for image in change.busy))
        return images.keys()
