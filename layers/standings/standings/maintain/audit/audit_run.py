"""One call of an audit: its reads, its deadline and its report."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from standings.domain.boards.ranking import Ranking
from standings.maintain.audit.audit_reads import AuditReads
from standings.maintain.audit.report import Kind, Report, difference, expected_key
from standings.ports.errors import StoreUnavailableError
from standings.runtime.retry import READ_TIMEOUT_S, Clock, retrying, with_retry

T = TypeVar("T")


@dataclass(slots=True)
class AuditRun:
    """One call of an audit. `deadline` is in seconds of the monotonic clock, `grace` in milliseconds."""

    store: AuditReads
    clock: Clock
    deadline: float
    grace: int
    report: Report

    @property
    def expired(self) -> bool:
        """Whether the deadline has passed."""
        return self.clock.monotonic() >= self.deadline

    @property
    def reads(self) -> AuditReads:
        """The store, for cheap reads: each is retried for up to `READ_TIMEOUT_S`."""
        return retrying(self.store, lambda: self.clock.backoff_for(READ_TIMEOUT_S))

    def consistent(self, read: Callable[[], T]) -> T | None:
        """Read one moment. None if writes conflict for `READ_TIMEOUT_S` or until the deadline:."""
        backoff = self.clock.backoff(min(self.deadline, self.clock.monotonic() + READ_TIMEOUT_S))
        try:
            return with_retry(read, backoff)
        except StoreUnavailableError:
            return None

    def compare(self, ranking: Ranking, member: str) -> None:
        """Compare a member's item and row at one moment, and report a difference."""
        pair = self.consistent(lambda: self.store.pair(ranking, member))
        if pair is None:
            self.report.add(Kind.UNSETTLED)
            return
        image, row = pair
        kind = difference(image, row, ranking, member, self.clock.now(), self.grace)
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
