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
from standings.aws.s3 import ResultsBucket
from standings.domain.boards import check_member
from standings.domain.members import removed
from standings.maintain.member_boards import Call, MemberBoards, walk_of
from standings.maintain.rebuild import RewriteMembers
from standings.maintain.settled_files import mentions

_BUSY: Final = "others kept writing the member: stop what posts for it, then erase it again"
_NO_FAMILY: Final = (
    "no family in boards.toml matches it: its scores are removed, its rankings keep the member until a family matches "
    "it again and it is rebuilt"
)


@dataclass(frozen=True)
class Erase(MemberBoards):
    """Removes a member from all its boards, in the order of their names.

    `results` has the files of settled periods; None on a stack that settles nothing.
    """

    profiles: Profiles
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
        walk, backoff = walk_of(cursor, self.clock, every_board=every_board), self.clock.backoff(deadline)
        has_profile = cursor is None and backoff.retry(self.profiles.remove, member)
        told = {"looked_at": 0, "boards": [], "profile": has_profile, "files": []}
        return self.go_through(Call(member, backoff, walk, told), self._erase_from)

    def _erase_from(self, call: Call, boards: Sequence[str]) -> None:
        """Remove the member from some boards. All but the first reading then look for it in their files."""
        known = self._remove(call, boards)
        if call.walk.reading == "first":
            call.walk = call.walk._replace(board=boards[-1])
            return
        for board in boards:
            if self.results is not None and board in known:
                for key, holds in mentions(self.results, self.clock, board, call.member, call.walk.file):
                    call.told["files"] += [key] if holds else []
                    call.walk = call.walk._replace(file=key)
                    if call.is_over:
                        return
            call.walk = call.walk._replace(board=board, file="")
            call.told["looked_at"] += 1

    def _remove(self, call: Call, boards: Sequence[str]) -> Collection[str]:
        """Remove the member from some boards, all in one transaction if nobody else writes it.

        Returns the boards that have an item of the member, removed or not.
        """
        images, damaged = self.images(call, boards)
        there = [image for image in images.values() if not image.removed]
        backoff = self.clock.backoff(call.backoff.deadline)
        change = RewriteMembers(self.scores, self.clock, backoff, lambda image: removed(image, self.clock.now()))
        try:
            change.run([there] if there else [])
        finally:
            gone = sorted(image.board for image in change.done)
            call.told["boards"] += gone
            strangers = [board for board in gone if self.catalog.boards.family(board) is None]
            call.problems += ({"board": board, "why": _NO_FAMILY} for board in strangers)
        if call.walk.reading != "first":  # The second reading tries again what is left
            call.problems += ({"board": board, "why": why} for board, why in damaged.items())
            call.problems += ({"board": board, "why": _BUSY} for board in sorted(image.board for image in change.busy))
        return images.keys()
