"""Merges two ids of one person on every board that the first one is in.

Each board is merged by itself, in one transaction (`members.MemberAdmin.merge`). So a task that stops in between leaves
some boards merged and others as they were, and one that begins again passes over what is done.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from standings.aws.dynamodb.scores import Scores
from standings.catalog import BoardCatalog
from standings.domain.errors import NotFoundError, RequestError
from standings.maintain.member_boards import MemberBoards, Walk, walk_of
from standings.members import MemberAdmin, check_two
from standings.runtime.clock import Clock
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
        check_two(old, new)
        return _Call(self, deadline, old, new, walk_of(cursor, self.clock, every_board=every_board)).run()


class _Call(MemberBoards):
    """What one call has done."""

    def __init__(self, task: MergeEverywhere, deadline: float, old: str, new: str, begun: Walk) -> None:
        super().__init__(task.catalog, task.scores, task.clock, deadline, old, begun)
        self._new = new
        self._members = task.members
        self._before = 0
        self._merged: list[dict[str, Any]] = []

    def told(self) -> dict[str, Any]:
        return {"merged": self._merged, "before": self._before}

    def is_over(self) -> bool:
        return self.backoff.expired or len(self._merged) + len(self.problems) >= MAX_NAMED

    def do(self, boards: Sequence[str]) -> None:
        """Merge the members on some boards, one after the other."""
        images, problems = self.images(boards)
        for board in boards:
            if self.is_over():
                break
            image = images.get(board)
            if image is not None and not image.removed:
                self._merge(board, problems)
            elif image is not None and image.merged_at is not None and self.walk.reading != "second":
                self._before += 1
            if board in problems and self.walk.reading != "first":  # The second reading tries again what is left
                self.problems.append({"board": board, "why": problems[board]})
            self.walk = self.walk._replace(board=board)

    def _merge(self, board: str, problems: dict[str, str]) -> None:
        try:
            answer = self._members.merge(board, self.member, self._new)
            self._merged.append({"board": board, "hidden": answer["hidden"]})
        except NotFoundError as error:
            if error.kind not in {"no-such-member", "expired"}:  # Somebody has just removed it, or its board has ended
                problems[board] = str(error)
        except RequestError as error:
            problems[board] = str(error)
        except StoreUnavailableError as error:  # Others may keep writing these two. No other board has to wait for it
            problems[board] = f"not merged: {error}: stop what posts for them, then merge again"
