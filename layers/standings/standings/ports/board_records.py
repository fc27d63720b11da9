"""A board's record: which rankings the board has, and the job that is running on it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from standings.domain.boards.coverage import Coverage

REBUILD: Final = "rebuild"
DELETE: Final = "delete"
BOARD_TTL_S: Final = 60  # Seconds for which a process caches a board's record
MAX_ATTEMPT_S: Final = 60
"""Seconds for which a function uses a record that it took from the cache: the longest timeout in `template.yaml`, but
for that of the maintenance function, which bounds its replays."""


class Job(NamedTuple):
    """A rebuild or deletion of a board that is not finished.

    `task` is `REBUILD` or `DELETE`. `phase` began at `since` (milliseconds). At the end the rankings have `coverage`.
    `members` members are done: those in the slots before `slot`, and in `slot` those up to `after`.
    """

    task: str
    phase: str
    since: int
    coverage: Coverage
    slot: int = 0
    after: str | None = None
    members: int = 0

    @property
    def token(self) -> str:
        """The fencing token of what is written in this phase."""
        return f"{self.task}/{self.phase}/{self.since}"


@dataclass(frozen=True, slots=True)
class BoardRecord:
    """What is stored about a board.

    `version` grows by one with every write. `begun` is when the board began, in milliseconds. `codes` are those of all
    rankings that any definition has written. Readers use `generation`, which has `coverage`; projectors write all in
    `written`. `latest` is the newest generation, created at `renewed` (milliseconds). `stale` ones await removal.
    A `deleted` board is not listed.
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
    renewed: int = 0
    job: Job | None = None

    @property
    def is_being_deleted(self) -> bool:
        """Whether events are refused and nothing is read, until the board's members and ranks are gone."""
        return self.job is not None and self.job.task == DELETE


class BoardRecords(Protocol):
    """All records of boards."""

    def records(self, boards: Iterable[str]) -> dict[str, BoardRecord]:
        """Read the records of these boards, strongly consistently. A board without a record is left out."""

    def names(self, after: str | None, limit: int) -> list[str]:
        """List the names of boards that sort after `after`, in order."""

    def put(self, record: BoardRecord, seen: BoardRecord | None) -> bool:
        """Replace the record that was seen (None: no record). False if there is another version."""
