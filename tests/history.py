"""`python -m tests.history FILE`: post a file's events with history, and compare every list with a sort.

FILE is CSV with the columns `id`, `epoch_seconds`, `member` and `lines`, plain or `.gz`: a stream of years. All is
posted at once, a day after its last event, in a random order. Then every list of every period that can be read is
compared whole with a sort of the file. The end says how many lists and lines there were; the exit status is 1 if one
differs. It runs the handlers in this process: 50,000 events take some minutes.
"""

import csv
import gzip
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

import orjson

import tests.conftest  # noqa: F401 - sets the environment variables of the product
from standings.domain.windows import DAY, instant
from tests.support.aws.stack import ManualClock, Stack, project, running
from tests.support.awslambda.pollers import Context
from tests.support.dynamodb.tables import engine_with_tables

BOARDS: Final = """
[boards."*"]
late = "1 day"
keep = "400 days"
metrics.lines = { aggregate = "sum", windows = ["all", "day", "week", "month", "year", "last-7-days"] }
"""
BATCH: Final = 500
Row = tuple[str, int, str, int]
"""Id, milliseconds since 1970, member, lines."""


def main() -> int:
    """Post the file and compare. Return the exit status."""
    rows = list(rows_of(Path(sys.argv[1])))
    clock = ManualClock(max(at for _, at, _, _ in rows) + DAY)
    with running(engine_with_tables(), clock, BOARDS) as stack:
        shuffled = Random(1).sample(rows, len(rows))
        for start in range(0, len(rows), BATCH):
            post(stack, shuffled[start : start + BATCH])
        lists = lines = wrong = 0
        for window in ("all", "day", "week", "month", "year", "last-7-days"):
            for name, found in read(stack, window):
                expected = sorted(in_period(rows, window, name).items(), key=lambda one: (-one[1], one[0]))
                lists, lines = lists + 1, lines + len(found)
                if found != expected:
                    wrong += 1
                    print(f"{window} {name}: expected {expected[:3]}…, got {found[:3]}…")
    print(f"{len(rows):,} events, {lists:,} lists of {lines:,} lines compared: {wrong} wrong")
    return 1 if wrong else 0


def rows_of(file: Path) -> Iterator[Row]:
    """Yield the rows of a file."""
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open(encoding="utf-8") as text:
        for row in csv.DictReader(text):
            yield row["id"], int(row["epoch_seconds"]) * 1000, row["member"], int(row["lines"])


def post(stack: Stack, rows: list[Row]) -> None:
    """Give a batch of rows to the writer, and project what changed."""
    records = [
        {
            "messageId": own,
            "body": orjson.dumps(
                {"id": own, "board": "b", "member": member, "at": instant(at), "metrics": {"lines": lines}}
            ).decode(),
            "messageAttributes": {"history": {"dataType": "String", "stringValue": "true"}},
            "attributes": {"SentTimestamp": str(stack.clock())},
        }
        for own, at, member, lines in rows
    ]
    assert stack.writer({"Records": records}, Context()) == {"batchItemFailures": []}
    project(stack)


def read(stack: Stack, window: str) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Yield the name and the list of each period that can be read, newest first."""
    period: str | None = None
    while True:
        found: list[tuple[str, int]] = []
        page: dict[str, Any] = {"next": None}
        while not found or page["next"] is not None:
            given = {"period": period, "cursor": page["next"], "limit": 1000}
            status, page = stack.get(f"/boards/b/lines/{window}", **given)
            if status != 200:
                return
            found += [(one["member"], one["score"]) for one in page["entries"]]
            if not page["entries"]:
                break
        about = page["period"]
        yield about["name"] or "", found
        period = about["previous"]
        if period is None:
            return


_DAYS: Final[dict[str, Mapping[str, Counter[str]]]] = {}


def in_period(rows: list[Row], window: str, name: str) -> Counter[str]:
    """The sums of a period's members, in UTC."""
    if not _DAYS:
        days: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for _, at, member, lines in rows:
            days[datetime.fromtimestamp(at / 1000, UTC).date().isoformat()][member] += lines
        _DAYS["all"] = days
    days_of = _DAYS["all"]
    sums: Counter[str] = Counter()
    for day in days_of if window == "all" else _days_of(window, name):
        for member, lines in days_of.get(day, {}).items():
            sums[member] += lines
    return sums


def _days_of(window: str, name: str) -> Iterator[str]:
    first = datetime.fromisoformat(name if len(name) > len("2026") else f"{name}-01-01").date()
    if window == "last-7-days":
        yield from ((first - timedelta(days=ago)).isoformat() for ago in range(7))
        return
    last = {"day": first, "week": first + timedelta(days=6)}.get(window)
    if last is None:
        following = (
            first.replace(year=first.year + 1) if window == "year" else (first + timedelta(days=32)).replace(day=1)
        )
        last = following - timedelta(days=1)
    while first <= last:
        yield first.isoformat()
        first += timedelta(days=1)


if __name__ == "__main__":
    raise SystemExit(main())
