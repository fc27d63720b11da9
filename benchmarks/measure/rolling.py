"""What rolling windows cost a stream of your own, through the real writer and projector, and whether they are right.

    make rolling FILE=activity.csv.gz
    python -m benchmarks.measure.rolling FILE [--points COLUMN] [--keep]

FILE is CSV (or .csv.gz) with the columns `epoch_seconds` and `member`. Each row becomes an event of one point, or of as
many as the column says. The stream is cut into pieces of 120 days, which are laid over each other, each with members of
its own: so a quiet stream is as busy as a board whose windows cost something. Events are counted from the day on which
the windows are full, in each of two ways:

- *together*: all events of a day in batches of up to 500;
- *alone*: each in a batch of its own, the first 3,000 of them.

Every tenth day, the whole list of today and that of three days ago are read and compared with sorted lists of the
members' sums: it ends with an AssertionError at the first that differs. Pages of 100 are read too, and the items that
they read are counted. `--keep` writes the result to `benchmarks/results/streams.json`, and the table of
`docs/performance-tables.md`.
"""

import argparse
import csv
import gzip
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import groupby, islice, takewhile, tee
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.harness import population
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.pipeline import event, still_clock
from benchmarks.harness.questions import Board
from benchmarks.harness.results_file import Output
from benchmarks.harness.truth import Truth
from benchmarks.models.cost.counted import Settings
from benchmarks.pages.tables import Table
from standings.aws.dynamodb.tables import PLACES
from standings.calls import CALLS
from standings.domain.boards_toml import parse_boards
from standings.domain.windows import DAY, SECOND
from standings.read import pages
from standings.read.session import RankingReader

MOST: Final = CALLS["listRanking"].arguments["limit"].most
WINDOWS: Final = ("last-7-days", "last-30-days")
PIECE: Final = 120
"""Days of a piece that is laid over the others."""
WARM: Final = 30
"""The first days of a piece, of which no events are counted."""
BATCH: Final = 500
ALONE: Final = 3_000
EVERY: Final = 10  # Days after which lists are compared, and pages are read
AGO: Final = 3  # How many days ago the period ended whose list is compared too
LIMIT: Final = 100
PARTS: Final = ("rows", "log", "nodes", "list")


class Event(NamedTuple):
    """One activity: its instant in milliseconds, its member and its points."""

    at: int
    member: str
    points: int


Batches = Iterable[tuple[bool, Sequence[Event]]]
"""Batches of events, and whether they are counted."""


def read_stream(path: Path, points: str | None = None) -> list[Event]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        return [
            Event(int(row["epoch_seconds"]) * SECOND, row["member"], int(row[points]) if points else 1)
            for row in csv.DictReader(lines)
        ]


def laid(stream: Sequence[Event]) -> Iterator[tuple[int, list[Event]]]:
    """Lay pieces of the stream over each other; return the events of each day, and its number."""
    begin = min(stream).at // DAY * DAY
    events = sorted(
        Event(begin + (one.at - begin) % (PIECE * DAY), f"{(one.at - begin) // (PIECE * DAY)}-{one.member}", one.points)
        for one in stream
    )
    for day, of_day in groupby(events, key=lambda one: (one.at - begin) // DAY):
        yield day, list(of_day)


def together(stream: Sequence[Event]) -> Batches:
    for day, events in laid(stream):
        for start in range(0, len(events), BATCH):
            yield day >= WARM, events[start : start + BATCH]


def alone(stream: Sequence[Event]) -> Batches:
    """The same as far as nothing is counted; then each event in a batch of its own."""
    warm, counted = tee(together(stream))
    yield from takewhile(lambda batch: not batch[0], warm)
    single = ([one] for is_counted, events in counted if is_counted for one in events)
    yield from ((True, one) for one in islice(single, ALONE))


def part_of(code: str, table: str, key: str) -> str:
    """Return what units of a key of Rankings are for, by the code of the board's only window, which is rolling."""
    if table.endswith(PLACES):
        return "list"
    period, separator, rest = re.split("([#/])", key.partition("#")[2].removeprefix(code), maxsplit=1)
    if separator == "#":
        return "list" if period else "rows"
    return "log" if not period and rest.startswith("log") else "nodes"


KINDS: Final = {"together": together, "alone": alone}


class Run:
    """A stream on a board with one rolling window."""

    def __init__(self, window: str) -> None:
        self._now = 0
        self._window = window
        settings = Settings((window,))
        metric = settings.family.metrics["points"]
        self._code, self._size = metric.ranking_code(metric.windows[0]), metric.windows[0].size
        self._board = Board(parse_boards(settings.toml), clock=replace(still_clock(), now=lambda: self._now))
        self._sums: defaultdict[int, Counter[str]] = defaultdict(Counter)  # The points of each member by day
        self._events = self._compared = self._pages = self._items = self._applied = 0

    def apply(self, batches: Batches) -> dict[str, Any]:
        """Apply and project all batches; return what an event cost, and how many items pages read."""
        meter = self._board.pipeline.meter
        day = 0
        before = meter.snapshot()
        for is_counted, events in batches:
            if is_counted and not self._events:
                before = meter.snapshot()
            self._events += is_counted * len(events)
            self._now = events[-1].at
            if self._now // DAY > day:
                day = self._now // DAY
                for table in ("Scores", "Rankings", "Receipts"):
                    self._board.client.expire(table, self._now / SECOND)
                if day % EVERY == 0 and self._applied:
                    self._read_pages()
                    self._compare(day)
                    self._compare(day - AGO)
            self._batch(events)
        parts = dict.fromkeys(PARTS, 0.0)
        for (table, key), units in (meter.snapshot() - before).targets.items():
            if table.startswith("Rankings"):
                parts[part_of(self._code, table, key)] += units.write / self._events
        return {
            "events": self._events,
            "write_units_per_event": round(sum(parts.values()), 2),
            "parts": {part: round(units, 2) for part, units in parts.items()},
            "entries_compared": self._compared,
            "pages": self._pages,
            "items_per_page": round(self._items / self._pages, 1) if self._pages else 0.0,
        }

    def _batch(self, events: Sequence[Event]) -> None:
        pipeline = self._board.pipeline
        pipeline.write(
            event(f"{self._applied + number}", population.BOARD, one.member, {"points": one.points}, one.at)
            for number, one in enumerate(events)
        )
        pipeline.project(len(events))
        self._applied += len(events)
        for one in events:
            self._sums[one.at // DAY][one.member] += one.points

    def _read_pages(self) -> None:
        """Read the top of the list and its middle, and count the items."""
        self._board.read_record(self._window)
        first = pages.page(self._about(), limit=1, cursor=None)
        if first["total"] < 4 * LIMIT:
            return
        # By cursor: a page at a position also reads the equals before it.
        middle = pages.page_at(self._about(), rank=first["total"] // 2, limit=1)
        for cursor in (None, middle["next"]):
            _, cost = self._board.cost(partial(pages.page, self._about(), limit=LIMIT, cursor=cursor))
            self._pages += 1
            self._items += cost.entries

    def _compare(self, day: int) -> None:
        """Compare the whole list of the period that ends with a day; AssertionError at the first page that differs."""
        sums = Counter[str]()
        for each in range(day - self._size + 1, day + 1):
            sums.update(self._sums[each])
        truth = Truth(sums)
        period = datetime.fromtimestamp(day * DAY // SECOND, UTC).date().isoformat()
        cursor = None
        for first in range(1, max(1, truth.total) + 1, MOST):
            page = pages.page(self._about(period), limit=MOST, cursor=cursor)
            if not truth.shows(page, first, MOST):
                raise AssertionError(f"{self._window}, {period}, from {first} on: got the wrong page {str(page)[:500]}")
            cursor = page["next"]
        self._compared += truth.total

    def _about(self, period: str | None = None) -> RankingReader:
        return self._board.about(self._window, period=period)


def measure(stream: Sequence[Event]) -> dict[str, Any]:
    rows = [
        {"window": window, "kind": kind, **Run(window).apply(cut(stream))}
        for window in WINDOWS
        for kind, cut in KINDS.items()
    ]
    return {"events": len(stream), "members": len({one.member for one in stream}), "rows": rows}


STREAMS: Final = Table(
    "window | events | counted | write units | rows | log | nodes | list | items of a page of 100 | entries compared",
    "`{window}` | {kind} | {events:,} | {write_units_per_event:.1f} | "
    + " | ".join(f"{{parts[{part}]:.1f}}" for part in PARTS)
    + " | {items} | {entries_compared:,}",
    lambda result: ({**row, "items": round(row["items_per_page"]) or ""} for row in result["rows"]),
)
BENCHMARK: Final = Benchmark("streams", None, {"docs/performance-tables.md": {"streams": STREAMS}}, "make rolling")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.measure.rolling", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--points", help="the column with the points of an event; without it each has one")
    parser.add_argument("--keep", action="store_true", help="write the result and the table of the page")
    options = parser.parse_args(arguments)
    result = measure(read_stream(options.file, options.points))
    if options.keep:
        Output().keep(BENCHMARK.name, result)
        BENCHMARK.show(Output(), result)
    print("\n".join(STREAMS(result)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
