"""What an audit has found, and how it looks: cheaply first, and at one moment where something seems wrong."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from standings.domain.boards.ranking import Ranking
from standings.maintain.audit.audit_reads import AuditReads
from standings.maintain.audit.differences import NO_DIFFERENCE, Kind, difference, expected_key
from standings.ports.errors import StoreUnavailableError
from standings.runtime.retry import READ_TIMEOUT_S, Clock, with_retry

MAX_EXAMPLES: Final = 20

T = TypeVar("T")


@dataclass(slots=True)
class Report:
    """What one call of an audit has seen and found.

    `examples` are the first differences, each with the keys that lead to it. `units` are read units, roughly. `cursor`
    is where to go on; None once the board is done.
    """

    board: str
    found: Counter[Kind] = field(default_factory=Counter)
    examples: list[dict[str, Any]] = field(default_factory=list)
    members: int = 0
    rows: int = 0
    rankings: int = 0
    entries: int = 0
    nodes: int = 0
    units: float = 0.0
    cursor: dict[str, Any] | None = None

    @property
    def drift(self) -> int:
        """The number of differences: neither what is on its way nor what never rests."""
        return sum(count for kind, count in self.found.items() if kind not in NO_DIFFERENCE)

    def add(self, kind: Kind, **where: Any) -> None:
        """Count a finding; keep the first differences as examples."""
        self.found[kind] += 1
        if kind not in NO_DIFFERENCE and len(self.examples) < MAX_EXAMPLES:
            self.examples.append({"kind": kind.value, **where})

    def answer(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "done": self.cursor is None,
            "cursor": self.cursor,
            "board": self.board,
            "drift": self.drift,
            "found": {kind.value: self.found[kind] for kind in Kind},
            "examples": self.examples,
            "looked_at": {
                "members": self.members,
                "rows": self.rows,
                "rankings": self.rankings,
                "entries": self.entries,
                "nodes": self.nodes,
            },
            "read_units": round(self.units),
        }


@dataclass(slots=True)
class AuditRun:
    """One call's way of looking at the evidence, and what it finds. `deadline` is of the monotonic clock."""

    evidence: AuditReads
    pacing: Clock
    deadline: float
    grace: int
    report: Report

    @property
    def expired(self) -> bool:
        """Whether the deadline has come."""
        return self.pacing.monotonic() >= self.deadline

    def read(self, read: Callable[[], T]) -> T:
        """A cheap look; tried again while the store is throttled, up to a few seconds."""
        return with_retry(read, self.pacing.backoff_for(READ_TIMEOUT_S))

    def picture(self, take: Callable[[], T]) -> T | None:
        """A picture of one moment; None where others are in the way for seconds, or until the deadline."""
        try:
            return with_retry(take, self.pacing.backoff(min(self.deadline, self.pacing.monotonic() + READ_TIMEOUT_S)))
        except StoreUnavailableError:
            return None

    def judge(self, ranking: Ranking, member: str) -> None:
        """Look at a member's item and row at one moment, and say what is wrong with them, if anything is."""
        pair = self.picture(lambda: self.evidence.pair(ranking, member))
        if pair is None:
            self.report.add(Kind.UNSETTLED)
            return
        image, row = pair
        kind = difference(image, row, ranking, member, self.pacing.now(), self.grace)
        if kind is not None:
            self.report.add(
                kind,
                ranking=ranking.key,
                member=member,
                expected=expected_key(image, ranking, member),
                found=row.key if row is not None else None,
                item_version=image.version if image is not None else None,
                row_version=row.version if row is not None else None,
            )
