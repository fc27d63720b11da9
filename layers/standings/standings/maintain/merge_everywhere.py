"""Merges two ids of one person on every board that the first one is in.

Each board is merged by itself, in one transaction (`members.MemberAdmin.merge`). So a task that stops in between leaves
some boards merged and others as they were, and one that begins again passes over what is done.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from standings.domain.errors import NotFoundError, RequestError
from standings.maintain.member_boards import Call, MemberBoards, walk_of
from standings.members import MemberAdmin, check_two
from standings.stores import StoreUnavailableError


@dataclass(frozen=True)
class MergeEverywhere(MemberBoards):
    """Gives all that a member has to another one, on all boards, in the order of their names."""

    members: MemberAdmin

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
        walk, told = walk_of(cursor, self.clock, every_board=every_board), {"merged": [], "before": 0}
        call = Call(old, self.clock.backoff(deadline), walk, told)
        return self.go_through(call, lambda call, boards: self._merge_on(call, boards, new))

    def _merge_on(self, call: Call, boards: Sequence[str], new: str) -> None:
        images, problems = self.images(call, boards)
        for board in boards:
            if call.is_over:
                break
            image = images.get(board)
            if image is not None and not image.removed:
                try:
                    hidden = self.members.merge(board, call.member, new)["hidden"]
                    call.told["merged"].append({"board": board, "hidden": hidden})
                except RequestError as error:
                    # Somebody has just removed it, or its board has ended
                    if not (isinstance(error, NotFoundError) and error.kind in {"no-such-member", "expired"}):
                        problems[board] = str(error)
                except StoreUnavailableError as error:  # Others may keep writing these two. No other board waits for it
                    problems[board] = f"not merged: {error}: stop what posts for them, then merge again"
            elif image is not None and image.merged_at is not None and call.walk.reading != "second":
                call.told["before"] += 1
            if board in problems and call.walk.reading != "first":  # The second reading tries again what is left
                call.problems.append({"board": board, "why": problems[board]})
            call.walk = call.walk._replace(board=board)
