"""Goes through the boards of a member, for tasks that have to reach each of them.

The index of Scores lists the boards. It follows the items with a delay, so it is read twice: what was written before
the first reading began is there at the second, which begins `LAG_S` later. As long as there is no index, because
DynamoDB is still building it, or if the caller wants it, all boards that are listed are gone through instead, once.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from standings.aws.dynamodb.scores import DamagedItem, Scores
from standings.catalog import BoardCatalog
from standings.domain.errors import bad_argument
from standings.domain.members import Image
from standings.domain.windows import SECOND
from standings.maintain.turns import drive
from standings.runtime.clock import Clock
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


class MemberBoards(ABC):
    """One call of a task that goes through the boards of a member, up to 100 at a time.

    `walk` is where the next call goes on. `problems` names boards that somebody has to look at, and why.
    """

    def __init__(
        self, catalog: BoardCatalog, scores: Scores, clock: Clock, deadline: float, member: str, begun: Walk
    ) -> None:
        self.catalog = catalog
        self.scores = scores
        self.clock = clock
        self.member = member
        self.deadline = deadline
        self.backoff = clock.backoff(deadline)
        self.walk = begun
        self.problems: list[dict[str, str]] = []

    @abstractmethod
    def do(self, boards: Sequence[str]) -> None:
        """Do the task on some boards: `walk` is behind the last one then, unless the call is over."""

    @abstractmethod
    def is_over(self) -> bool:
        """Whether the call must end."""

    @abstractmethod
    def told(self) -> dict[str, Any]:
        """What the answer says of the task: `{"merged": [], "before": 2}`. If all of it is empty, nothing was done."""

    def run(self) -> dict[str, Any]:
        """Go on until the call is over: `{"done": True, "cursor": "#2#…", …, "wait": 0.0}`.

        StoreUnavailableError: nothing could be done, try again later.
        """
        begun, done = self.walk, False
        try:
            done = drive(self._step, begun) is None
        except StoreUnavailableError:
            if self.walk == begun and not any(self.told().values()):
                raise
        return {
            "done": done,
            "cursor": self.walk.cursor or None,
            **self.told(),
            "problems": self.problems,
            "every_board": self.walk.reading == "every-board",
            "wait": 0.0 if done else self._wait(),
        }

    def images(self, boards: Sequence[str]) -> tuple[dict[str, Image], dict[str, str]]:
        """The member's items by board, and why those on other boards cannot be read."""
        keys, damaged = [(board, self.member) for board in boards], list[DamagedItem]()
        images = self.backoff.retry(self.scores.images, keys, consistent=True, damaged=damaged)
        return {board: image for (board, _), image in images.items()}, {one.board: str(one) for one in damaged}

    def _step(self, walk: Walk) -> Walk | None:
        """Do the task on the next boards. The walk stays the same if the second reading is not due within the time."""
        if self.is_over() or ((wait := self._wait()) > 0 and not self.backoff.wait(wait)):
            return walk
        after = walk.board or None
        try:
            if walk.reading == "every-board":
                boards = self.backoff.retry(self.catalog.records.names, after, MAX_ACTIONS)
            else:
                boards = self.backoff.retry(self.scores.boards_of, self.member, after, MAX_ACTIONS)
        except IndexNotBuiltError:
            self.walk = Walk("every-board")
            return self.walk
        if boards:
            self.do(boards)
            if len(boards) >= MAX_ACTIONS or self.walk != walk._replace(board=boards[-1], file=""):
                return self.walk
        if walk.reading != "first":
            return None
        self.walk = Walk("second", walk.begun)
        return self.walk

    def _wait(self) -> float:
        """Seconds until the second reading is due, of a walk that stands before it; otherwise 0."""
        walk = self.walk
        if walk.reading != "second" or walk.board or walk.file:
            return 0.0
        return min(max(0.0, walk.begun / SECOND + LAG_S - self.clock.now() / SECOND), LAG_S)
