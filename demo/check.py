"""Compares every rank that the API gives with a brute-force sort of the same events."""

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
_ASKED = 250
# How many days back the periods lie that are read besides the current one; all are still kept.
_PAST = {"day": (1, 2, 7, 20), "week": (7, 21), "month": (31,), "last-7-days": (1, 7, 20)}


@dataclass(slots=True)
class Report:
    """How many ranks were compared in how many rankings, and what differed."""

    rankings: int = 0
    ranks: int = 0
    differences: list[str] = field(default_factory=list)

    def merge(self, other: "Report") -> None:
        """Add what another comparison found."""
        self.rankings += other.rankings
        self.ranks += other.ranks
        self.differences += other.differences


def periods(now: datetime) -> list[Period]:
    """Return the current period of every window and some past ones."""
    found = [model.period(window, now) for window in model.WINDOWS]
    for window, days in _PAST.items():
        found += [model.period(window, now - timedelta(days=back)) for back in days]
    return found


def check_rankings(reader: Reader, events: Sequence[Event], applied: datetime, now: datetime) -> Report:
    """Compare each entry of each ranking, page by page."""
    report = Report()
    with ThreadPoolExecutor(_READERS) as pool:
        wanted = periods(now)
        for found in pool.map(lambda one: _check_ranking(reader, events, one, applied), wanted):
            report.merge(found)
    return report


def check_members(
    reader: Reader,
    events: Sequence[Event],
    applied: datetime,
    now: datetime,
    progress: Callable[[int, int], None],
) -> Report:
    """Compare the answers to one member's rank in `all`, for members from all over the list.

    The lists have every member's rank already; a request for each would take longer than all else.
    """
    standings = model.standings(events, model.period("all", now), applied)
    total = len(standings)
    expected = standings[:: max(1, total // _ASKED)]
    report = Report()
    with ThreadPoolExecutor(_READERS) as pool:
        answers = pool.map(lambda standing: reader.rank("all", standing.member), expected)
        for standing, answer in zip(expected, answers, strict=True):
            report.ranks += 1
            want = _rank_answer(standing, total)
            have = answer and {name: answer.get(name) for name in want}
            if have != want:
                report.differences.append(f"rank of {standing.member!r}: {have}, not {want}")
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
            report.differences.append(f"{name}: total {page['total']}, not {len(expected)}")
        if period.label and not _same_period(page["period"], period):
            report.differences.append(f"{name}: {page['period']}, not {period}")
    for place, (entry, standing) in enumerate(zip_longest(entries, expected), start=1):
        report.ranks += 1
        have = entry and (entry["rank"], entry["member"], entry["score"])
        want = standing and (standing.rank, standing.member, standing.score)
        if have != want:
            report.differences.append(f"{name}, place {place}: {have}, not {want}")
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
    bounds = (datetime.fromisoformat(answer[side]) for side in ("start", "end"))
    aware = tuple(bound if bound.tzinfo else bound.replace(tzinfo=UTC) for bound in bounds)
    return aware == (period.start, period.end)
