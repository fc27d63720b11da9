"""Goes through the boards of a member, for tasks that have to reach each of them.

The index of Scores lists the boards. It follows the items with a delay, so it is read twice: what was written before
the first reading began is there at the second, which begins `LAG_S` later. As long as there is no index, because
DynamoDB is still building it, or if the caller wants it, all boards that are listed are gone through instead, once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from standings.aws.dynamodb.scores import DamagedItem, Scores
from standings.catalog import BoardCatalog
from standings.domain.errors import bad_argument
from standings.domain.members import Image
from standings.domain.windows import SECOND
from standings.maintain.turns import drive
from standings.runtime.clock import Backoff, Clock
from standings.stores import MAX_ACTIONS, IndexNotBuiltError, StoreUnavailableError

LAG_S: Final = 10.0
"""Seconds from the begin of the first reading to the second. The index is usually less than a second behind."""
Reading = Literal["first", "second", "every-board"]
_BY_INDEX: Final[dict[str, Reading]] = {"1": "first", "2": "second"}
_FIELDS: Final = 5


class Walk(NamedTuple):
    """Where a walk is: behind `board`, and behind `file`, a settled file of the board after that one.

    The first reading by the index began at `begun` (milliseconds).
    """

    reading: Reading
    begun: int = 0
    board: str = ""
    file: str = ""

    @property
    def cursor(self) -> str:
        """The walk as text, such as `#1#1795256100000#berlin#`, or through every board `berlin` and `berlin#file`.

        No board's name has a `#`, and neither has a file's.
        """
        if self.reading == "every-board":
            return f"{self.board}#{self.file}" if self.file else self.board
        number = next(number for number, reading in _BY_INDEX.items() if reading == self.reading)
        return f"#{number}#{self.begun}#{self.board}#{self.file}"


def walk_of(cursor: str | None, clock: Clock, *, every_board: bool) -> Walk:
    """The walk of a cursor; a new one without. Raises InvalidArgumentError for another text."""
    if cursor is None:
        return Walk("every-board") if every_board else Walk("first", clock.now())
    if not cursor.startswith("#"):
        board, _, file = cursor.partition("#")
        return Walk("every-board", 0, board, file)
    parts = cursor.split("#")
    if len(parts) != _FIELDS or parts[1] not in _BY_INDEX or not (parts[2].isascii() and parts[2].isdigit()):
        raise bad_argument("cursor", f"expected the cursor of an earlier answer, got {cursor[:80]!r}")
    return Walk(_BY_INDEX[parts[1]], int(parts[2]), parts[3], parts[4])


MAX_NAMED: Final = 1_000  # Boards and files after which an answer is given, so that it does not become too long


@dataclass(slots=True)
class Call:
    """One call of a task for a member. `walk` is where the next call goes on.

    `told` is what the answer says of the task, such as `{"merged": [], "before": 2}`: if all of it is empty, nothing
    was done. `problems` names boards that somebody has to look at, and why.
    """

    member: str
    backoff: Backoff
    walk: Walk
    told: dict[str, Any]
    problems: list[dict[str, str]] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether the call must end."""
        named = sum(len(each) for each in (self.problems, *self.told.values()) if isinstance(each, list))
        return self.backoff.expired or named >= MAX_NAMED


@dataclass(frozen=True)
class MemberBoards:
    """Goes through the boards of a member, up to 100 at a time, for a task."""

    catalog: BoardCatalog
    scores: Scores
    clock: Clock

    def go_through(self, call: Call, do: Callable[[Call, Sequence[str]], None]) -> dict[str, Any]:
        """Do the task until the call is over: `{"done": True, "cursor": "#2#…", …, "problems": [], "wait": 0.0}`.

        `do` does it on some boards: the call's `walk` is behind the last one then, unless the call is over.
        StoreUnavailableError: nothing could be done, try again later.
        """
        begun, done = call.walk, False
        try:
            done = drive(lambda walk: self._step(call, walk, do), begun) is None
        except StoreUnavailableError:
            if call.walk == begun and not any(call.told.values()):
                raise
        return {
            "done": done,
            "cursor": call.walk.cursor or None,
            **call.told,
            "problems": call.problems,
            "every_board": call.walk.reading == "every-board",
            "wait": 0.0 if done else self._wait(call.walk),
        }

    def images(self, call: Call, boards: Sequence[str]) -> tuple[dict[str, Image], dict[str, str]]:
        """The member's items by board, and why those on other boards cannot be read."""
        keys, damaged = [(board, call.member) for board in boards], list[DamagedItem]()
        images = call.backoff.retry(self.scores.images, keys, consistent=True, damaged=damaged)
        return {board: image for (board, _), image in images.items()}, {one.board: str(one) for one in damaged}

    def _step(self, call: Call, walk: Walk, do: Callable[[Call, Sequence[str]], None]) -> Walk | None:
        """Do the task on the next boards. The walk stays the same if the second reading is not due within the time."""
        if call.is_over or ((wait := self._wait(walk)) > 0 and not call.backoff.wait(wait)):
            return walk
        after = walk.board or None
        try:
            if walk.reading == "every-board":
                boards = call.backoff.retry(self.catalog.records.names, after, MAX_ACTIONS)
            else:
                boards = call.backoff.retry(self.scores.boards_of, call.member, after, MAX_ACTIONS)
        except IndexNotBuiltError:
            call.walk = Walk("every-board")
            return call.walk
        if boards:
            do(call, boards)
            if len(boards) >= MAX_ACTIONS or call.walk != walk._replace(board=boards[-1], file=""):
                return call.walk
        if walk.reading != "first":
            return None
        call.walk = Walk("second", walk.begun)
        return call.walk

    def _wait(self, walk: Walk) -> float:
        """Seconds until the second reading is due, of a walk that stands before it; otherwise 0."""
        if walk.reading != "second" or walk.board or walk.file:
            return 0.0
        return min(max(0.0, walk.begun / SECOND + LAG_S - self.clock.now() / SECOND), LAG_S)
