"""Erases a person: removes a member from all its boards, whatever the boards are doing meanwhile.

A removal is an ordinary change of the member's item, made on condition of its version. So rankings follow as they do
from an event, and a rebuild or a deletion that meets the member finds it removed. A later event would bring it back.

Files of settled periods are left as they are. Those of the boards that have an item of the member are read, and the
ones that hold the member are named.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from standings.aws.dynamodb.profiles import Profiles
from standings.aws.dynamodb.scores import DamagedItem, Scores
from standings.aws.s3 import ResultsBucket
from standings.catalog import BoardCatalog
from standings.domain.boards import check_member
from standings.domain.members import removed
from standings.maintain.member_boards import MemberBoards, Walk
from standings.maintain.rebuild import RewriteMembers
from standings.maintain.settled_files import mentions
from standings.maintain.turns import drive
from standings.runtime.clock import Backoff, Clock
from standings.stores import StoreUnavailableError

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
        boards = MemberBoards(self.catalog.records, self.scores, self.clock)
        begun = boards.walk(cursor, every_board=every_board)
        call = _Call(self, boards, member, deadline, self.clock.backoff(deadline), begun)
        done = False
        try:
            if cursor is None:
                call.profile = call.backoff.retry(self.profiles.remove, member)
            done = drive(call.step, call.walk) is None
        except StoreUnavailableError:
            if call.walk == begun and not (call.boards or call.profile):
                raise
        return {
            "done": done,
            "cursor": call.walk.cursor or None,
            "looked_at": call.looked_at,
            "boards": call.boards,
            "profile": call.profile,
            "files": call.files,
            "problems": call.problems,
            "every_board": call.walk.reading == "every-board",
            "wait": 0.0 if done else boards.wait(call.walk),
        }


@dataclass(slots=True)
class _Call:
    """What one call has done. `walk` is where the next one goes on."""

    erase: Erase
    member_boards: MemberBoards
    member: str
    deadline: float
    backoff: Backoff
    walk: Walk
    profile: bool = False
    looked_at: int = 0
    files: list[str] = field(default_factory=list)
    boards: list[str] = field(default_factory=list)
    problems: list[dict[str, str]] = field(default_factory=list)

    def step(self, walk: Walk) -> Walk | None:
        if self._is_over():
            return walk
        following = self.member_boards.step(self.member, walk, self.backoff, self._through)
        self.walk = following or self.walk
        return following

    def _is_over(self) -> bool:
        return self.backoff.expired or len(self.boards) >= MAX_NAMED or len(self.files) >= MAX_NAMED

    def _through(self, walk: Walk, boards: Sequence[str]) -> Walk:
        """Remove the member from some boards. All but the first reading then look for it in their files."""
        known = self._remove(boards)
        if walk.reading == "first":
            self.walk = walk._replace(board=boards[-1])
        else:
            self.walk = walk
            all(self._look(board, is_known=board in known) for board in boards)
        return self.walk

    def _look(self, board: str, *, is_known: bool) -> bool:
        """Look for the member in a board's files if the board has an item of it. False if the call is over."""
        if self.erase.results is not None and is_known:
            for key, holds in mentions(self.erase.results, self.erase.clock, board, self.member, self.walk.file):
                self.files += [key] if holds else []
                self.walk = self.walk._replace(file=key)
                if self._is_over():
                    return False
        self.walk = self.walk._replace(board=board, file="")
        self.looked_at += 1
        return True

    def _remove(self, boards: Sequence[str]) -> set[str]:
        """Remove the member from some boards, all in one transaction if nobody else writes it.

        Returns the boards that have an item of the member, removed or not.
        """
        scores, clock = self.erase.scores, self.erase.clock
        damaged: list[DamagedItem] = []
        keys = [(board, self.member) for board in boards]
        images = self.backoff.retry(scores.images, keys, consistent=True, damaged=damaged)
        there = [image for image in images.values() if not image.removed]
        change = RewriteMembers(scores, clock, clock.backoff(self.deadline), lambda image: removed(image, clock.now()))
        try:
            change.run([there] if there else [])
        finally:
            gone = sorted(image.board for image in change.done)
            self.boards += gone
            strangers = [board for board in gone if self.erase.catalog.boards.family(board) is None]
            self.problems += ({"board": board, "why": _NO_FAMILY} for board in strangers)
        if self.walk.reading != "first":  # The second reading tries again what is left
            self.problems += ({"board": item.board, "why": str(item)} for item in set(damaged))
            self.problems += ({"board": board, "why": _BUSY} for board in sorted(image.board for image in change.busy))
        return {board for board, _ in images}
