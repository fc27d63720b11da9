"""What is stored about a board."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from standings.domain.boards.coverage import Coverage


class Job(NamedTuple):
    """A rebuild or deletion that is under way on a board, and how far it is.

    `phase` is one of those of `maintain.rebuild.phases`, which began at the instant `since`; `coverage` is what the
    rankings
    will be whole for. `slot` and `after` say which members are done, `members` how many these are.
    """

    task: str
    phase: str
    since: int
    coverage: Coverage
    slot: int = 0
    after: str | None = None
    members: int = 0


@dataclass(frozen=True, slots=True)
class BoardRecord:
    """What is known of a board: the generation of its rankings that is read, those that are written, and the rest.

    `version` is one more at every write. `coverage` says for what the generation that is read is whole; `codes` are
    those of all rankings that any definition has written. `latest` is the highest number that a generation was given,
    `stale` are generations that are no longer written and still there. A board that was `deleted` stands in no list;
    `again` says that an event came while it was being deleted. `renewed` is when the latest generation was begun.
    """

    board: str
    version: int
    begun: int
    coverage: Coverage
    codes: frozenset[str]
    generation: int = 0
    written: tuple[int, ...] = (0,)
    latest: int = 0
    stale: tuple[int, ...] = ()
    deleted: bool = False
    again: bool = False
    renewed: int = 0
    job: Job | None = None


class BoardRecords(Protocol):
    """The records of boards, which are also the list of them."""

    def records(self, boards: Iterable[str]) -> dict[str, BoardRecord]:
        """The records that there are of these boards, as of now."""

    def names(self, after: str | None, limit: int) -> list[str]:
        """The names of boards that follow a name, in order; not those that were deleted."""

    def put(self, record: BoardRecord, seen: int | None) -> bool:
        """Write a record in the place of the one of version `seen` (None: of none); False where that is not there."""
