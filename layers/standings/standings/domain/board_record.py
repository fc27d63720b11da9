"""The record of a board: what is complete on it, which generations of its rankings there are, and a job at work on it.

A process caches records. So whoever changes one waits `PROPAGATION_WAIT` before it relies on the change.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from standings.domain.coverage import Coverage
from standings.domain.windows import SECOND

REBUILD: Final = "rebuild"
DELETE: Final = "delete"
BOARD_TTL_S: Final = 60  # Seconds for which a process caches a board's record
MAX_ATTEMPT_S: Final = 60
"""Seconds for which a function goes on with a record that it took from the cache. No function that writes rankings runs
longer, or else it bounds its attempts by this."""
CLOCK_SKEW_S: Final = 60  # Seconds by which two clocks differ at most
PROPAGATION_WAIT: Final = (BOARD_TTL_S + MAX_ATTEMPT_S + CLOCK_SKEW_S) * SECOND
"""Milliseconds after which no function uses an older record of a board."""


@dataclass(frozen=True, slots=True)
class BoardRecord:
    """What is stored about a board.

    `version` grows by one with every write. `begun` is when the board began, in milliseconds. `codes` are those of all
    rankings that any definition has written, such as `q8Qd`. Readers use `generation`, which has `coverage`; projectors
    write all in `written`. `latest` is the newest generation, created at `renewed` (milliseconds). `stale` ones await
    removal. A `deleted` board is not listed.
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
    job: "Job | None" = None

    @property
    def projected_since(self) -> int:
        """The instant (in milliseconds) from which on projectors wrote each change to every generation in `written`.

        The newest generation may lack earlier changes. Then it has no row that stops an old record of a removed member.
        """
        return self.renewed + PROPAGATION_WAIT + CLOCK_SKEW_S * SECOND

    @property
    def is_being_deleted(self) -> bool:
        """Whether events are refused and nothing is read, until the board's members and ranks are gone."""
        return self.job is not None and self.job.task == DELETE


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
        """The fencing token of what is written in this phase: `rebuild/placing/1795256100000`."""
        return f"{self.task}/{self.phase}/{self.since}"
