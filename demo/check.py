"""Compares every rank in the API's answers with a brute-force sort of the same events."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from typing import Any

from demo import model
from demo.model import Event, Period, Standing
from demo.reads import Reader

_READERS = 4
_MEMBERS = 250
# Past periods to check, by days before today. All of them are still kept.
_PAST = {"day": (1, 2, 7, 20), "week": (7, 21), "month": (31,), "last-7-days": (1, 7, 20)}


@dataclass(slots=True)
class Report:
    """The number of rankings and ranks that were compared, and the differences."""

    rankings: int = 0
    ranks: int = 0
    differences: list[str] = field(default_factory=list)

    def merge(self, other: "Report") -> None:
        """Add the results of another comparison."""
        self.rankings += other.rankings
        self.ranks += other.ranks
        self.differences += other.differences


def periods(now: datetime) -> list[Period]:
    """Return the current period of every window, and some past ones."""
    chosen = [model.period(window, now) for window in model.WINDOWS]
    for window, days in _PAST.items():
        chosen += [model.period(window, now - timedelta(days=back)) for back in days]
    return chosen


def check_rankings(reader: Reader, events: Sequence[Event], applied: datetime, now: datetime) -> Report:
    """Compare each entry of each ranking, page by page."""
    report = Report()
    with ThreadPoolExecutor(_READERS) as pool:
        for result in pool.map(lambda period: _check_ranking(reader, events, period, applied), periods(now)):
            report.merge(result)
    return report


def check_members(
    reader: Reader,
    events: Sequence[Event],
    applied: datetime,
    now: datetime,
    progress: Callable[[int, int], None],
) -> Report:
    """Compare the answers to a member's rank in `all`, for a sample of members from the whole list.

    `check_rankings` has compared all ranks; a request for each member would take longer than the rest of the demo.
    """
    standings = model.standings(events, model.period("all", now), applied)
    total = len(standings)
    expected = standings[:: max(1, total // _MEMBERS)]
    report = Report()
    with ThreadPoolExecutor(_READERS) as pool:
        answers = pool.map(lambda standing: reader.rank("all", standing.member), expected)
        for standing, answer in zip(expected, answers, strict=True):
            report.ranks += 1
            right = _rank_answer(standing, total)
            actual = answer and {name: answer.get(name) for name in right}
            if actual != right:
                report.differences.append(f"rank of {standing.member!r}: expected {right}, got {actual}")
            progress(report.ranks, len(expected))
    return report


def _check_ranking(reader: Reader, events: Iterable[Event], period: Period, applied: datetime) -> Report:
    expected = model.standings(events, period, applied)
    report = Report(rankings=1)
    name = f"{period.window} of {period.label}" if period.label else period.window
    entries: list[dict[str, Any]] = []
    for page in reader.pages(period.window, period.label):
        entries += page["entries"]
        if page["total"] != len(expected):
            report.differences.append(f"{name}: expected a total of {len(expected)}, got {page['total']}")
        if period.label and not _same_period(page["period"], period):
            report.differences.append(f"{name}: expected {period}, got {page['period']}")
    for place, (entry, standing) in enumerate(zip_longest(entries, expected), start=1):
        report.ranks += 1
        actual = entry and (entry["rank"], entry["member"], entry["score"])
        right = standing and (standing.rank, standing.member, standing.score)
        if actual != right:
            report.differences.append(f"{name}, place {place}: expected {right}, got {actual}")
    return report


def _rank_answer(standing: Standing, total: int) -> dict[str, object]:
    return {
        "member": standing.member,
        "rank": standing.rank,
        "score": standing.score,
        "total": total,
        "percentile": model.percentile(standing, total),
    }


def _same_period(answer: dict[str, str], period: Period) -> bool:
    bounds = (datetime.fromisoformat(answer[side]) for side in ("starts", "ends"))
    aware = tuple(bound if bound.tzinfo else bound.replace(tzinfo=UTC) for bound in bounds)
    return aware == (period.start, period.end)
