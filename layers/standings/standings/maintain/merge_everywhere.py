"""Merges two ids of one person on every board that the first one is in.

Each board is merged by itself, in one transaction (`members.MemberAdmin.merge`). So a task that stops in between leaves
some boards merged and others as they were, and one that begins again passes over what is done.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from standings.aws.dynamodb.scores import DamagedItem, Scores
from standings.catalog import BoardCatalog
from standings.domain.boards import check_member
from standings.domain.errors import NotFoundError, RequestError, bad_argument
from standings.maintain.member_boards import MemberBoards, Walk
from standings.maintain.turns import drive
from standings.members import MemberAdmin
from standings.runtime.clock import Backoff, Clock
from standings.stores import StoreUnavailableError

MAX_NAMED: Final = 1_000  # Boards after which an answer is given, so that it does not become too long


@dataclass(frozen=True)
class MergeEverywhere:
    """Gives all that a member has to another one, on all boards, in the order of their names."""

    catalog: BoardCatalog
    scores: Scores
    members: MemberAdmin
    clock: Clock

    def merge(
        self, deadline: float, *, old: str, new: str, cursor: str | None = None, every_board: bool = False
    ) -> dict[str, Any]:
        """Go on after `cursor` until a deadline in seconds of the monotonic clock; to be called again until `done`.

        Returns `{"done": True, "cursor": "#2#…", "merged": [{"board": "b", "hidden": False}], "before": 2, …}`.

        `merged` are the boards on which this call merged them, `before` is on how many that was done before, and
        `problems` names boards on which it is refused, and why. The next call has something to do in `wait` seconds.
        InvalidArgumentError: no ids of two members. StoreUnavailableError: nothing could be done, try again later.
        """
        check_member("old", old)
        check_member("new", new)
        if old == new:
            raise bad_argument("new", "expected another member than old, got the same one")
        boards = MemberBoards(self.catalog.records, self.scores, self.clock)
        begun = boards.walk(cursor, every_board=every_board)
        call = _Call(self, boards, old, new, self.clock.backoff(deadline), begun)
        done = False
        try:
            done = drive(call.step, call.walk) is None
        except StoreUnavailableError:
            if call.walk == begun and not call.merged:
                raise
        return {
            "done": done,
            "cursor": call.walk.cursor or None,
            "merged": call.merged,
            "before": call.before,
            "problems": call.problems,
            "every_board": call.walk.reading == "every-board",
            "wait": 0.0 if done else boards.wait(call.walk),
        }


@dataclass(slots=True)
class _Call:
    """What one call has done. `walk` is where the next one goes on."""

    task: MergeEverywhere
    member_boards: MemberBoards
    old: str
    new: str
    backoff: Backoff
    walk: Walk
    before: int = 0
    merged: list[dict[str, Any]] = field(default_factory=list)
    problems: list[dict[str, str]] = field(default_factory=list)

    def step(self, walk: Walk) -> Walk | None:
        if self._is_over():
            return walk
        following = self.member_boards.step(self.old, walk, self.backoff, self._through)
        self.walk = following or self.walk
        return following

    def _is_over(self) -> bool:
        return self.backoff.expired or len(self.merged) + len(self.problems) >= MAX_NAMED

    def _through(self, walk: Walk, boards: Sequence[str]) -> Walk:
        """Merge the members on some boards, one after the other."""
        damaged: list[DamagedItem] = []
        keys = [(board, self.old) for board in boards]
        images = self.backoff.retry(self.task.scores.images, keys, consistent=True, damaged=damaged)
        problems = {item.board: str(item) for item in damaged}
        self.walk = walk
        for board in boards:
            if self._is_over():
                break
            image = images.get((board, self.old))
            if image is not None and not image.removed:
                self._merge(board, problems)
            elif image is not None and image.merged_at is not None and walk.reading != "second":
                self.before += 1
            if board in problems and walk.reading != "first":  # The second reading tries again what is left
                self.problems.append({"board": board, "why": problems[board]})
            self.walk = walk._replace(board=board)
        return self.walk

    def _merge(self, board: str, problems: dict[str, str]) -> None:
        try:
            answer = self.task.members.merge(board, self.old, self.new)
            self.merged.append({"board": board, "hidden": answer["hidden"]})
        except NotFoundError as error:
            if error.kind != "no-such-member":  # Somebody has just removed it
                problems[board] = str(error)
        except RequestError as error:
            problems[board] = str(error)
        except StoreUnavailableError as error:  # Others may keep writing these two. No other board has to wait for it
            problems[board] = f"not merged: {error}: stop what posts for them, then merge again"
