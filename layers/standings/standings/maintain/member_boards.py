"""Goes through the boards of a member, for tasks that have to reach each of them.

The index of Scores lists the boards. It follows the items with a delay, so it is read twice: what was written before
the first reading began is there at the second, which begins `LAG_S` later. As long as there is no index, because
DynamoDB is still building it, or if the caller wants it, all boards that are listed are gone through instead, once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from standings.aws.dynamodb.scores import BoardRecords, Scores
from standings.domain.errors import bad_argument
from standings.domain.windows import SECOND
from standings.runtime.clock import Backoff, Clock
from standings.stores import MAX_ACTIONS, IndexNotBuiltError

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


def walk_of(cursor: str) -> Walk:
    """The walk of a cursor. Raises InvalidArgumentError for another text."""
    if not cursor.startswith("#"):
        board, _, file = cursor.partition("#")
        return Walk("every-board", 0, board, file)
    parts = cursor.split("#")
    if len(parts) != _FIELDS or parts[1] not in _BY_INDEX or not (parts[2].isascii() and parts[2].isdigit()):
        raise bad_argument("cursor", f"expected the cursor of an earlier answer, got {cursor[:80]!r}")
    return Walk(_BY_INDEX[parts[1]], int(parts[2]), parts[3], parts[4])


@dataclass(frozen=True)
class MemberBoards:
    """Lists the boards of a member, up to 100 at a time."""

    records: BoardRecords
    scores: Scores
    clock: Clock

    def walk(self, cursor: str | None, *, every_board: bool) -> Walk:
        """The walk of a cursor; a new one without."""
        if cursor is not None:
            return walk_of(cursor)
        return Walk("every-board") if every_board else Walk("first", self.clock.now())

    def step(self, member: str, walk: Walk, backoff: Backoff, do: Callable[[Walk, Sequence[str]], Walk]) -> Walk | None:
        """Call `do(walk, boards)` with the next boards: the walk from which to go on. None at the end.

        `do` returns how far it is: behind the last of the boards, unless its time is over. The walk stays the same if
        the second reading is not due within the time that is left. May raise StoreUnavailableError.
        """
        if walk.reading == "second" and not (walk.board or walk.file):
            wait = self.wait(walk)
            if wait > 0 and not backoff.wait(wait):
                return walk
        after = walk.board or None
        try:
            if walk.reading == "every-board":
                boards = backoff.retry(self.records.names, after, MAX_ACTIONS)
            else:
                boards = backoff.retry(self.scores.boards_of, member, after, MAX_ACTIONS)
        except IndexNotBuiltError:
            return Walk("every-board")
        reached = do(walk, boards) if boards else walk
        if boards and (len(boards) >= MAX_ACTIONS or reached != walk._replace(board=boards[-1], file="")):
            return reached
        return Walk("second", walk.begun) if walk.reading == "first" else None

    def wait(self, walk: Walk | None) -> float:
        """Seconds until the second reading is due, of a walk that stands before it; otherwise 0."""
        if walk is None or walk.reading != "second" or walk.board or walk.file:
            return 0.0
        return min(max(0.0, walk.begun / SECOND + LAG_S - self.clock.now() / SECOND), LAG_S)
