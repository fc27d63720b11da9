"""What rolling windows cost, and would cost otherwise: on made streams, by four ways of keeping N periods up to date.

`make bench` (or `python -m benchmarks.measure.rolling`) writes `benchmarks/results/rolling.json` and the tables of
`docs/decisions/0012-rolling-windows-move-at-once.md`; `--stream activity.csv` (its header `id,epoch_seconds,member`,
gzipped or not) prints what a stream of your own would cost instead. Moves are counted stream by stream; what a move
costs is what `benchmarks.measure.units` has measured of the real projector. The ways that are not built are counted
at their
best: without the reads and retries that they would need on top.
"""

import csv
import gzip
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappush, heappushpop
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from benchmarks.harness.results_file import Output, output

PAGE: Final = "docs/decisions/0012-rolling-windows-move-at-once.md"
DAY: Final = 86_400
DAYS: Final = 7
MEMBERS: Final = 2_000
WINDOWS: Final = (7, 30)
RANKINGS_BESIDE: Final = 8
"""Rankings that the shipped board has beside `all`: `day`, and the seven periods of `last-7-days`."""
LISTED: Final = (10_000, 100_000)
TOP: Final = 100
PAGE_OF: Final = 100
ENTRY_BYTES: Final = 100
"""Of an index row with an id of 20 bytes; a bucket's sum in it takes some more."""
SUM_BYTES: Final = 6
READ_BYTES: Final = 4096
WRITE_TO_READ: Final = 5
"""A write unit costs as much as so many read units, on demand."""


class Event(NamedTuple):
    """One activity: second and member."""

    at: int
    member: int | str


class Prices(NamedTuple):
    """Write units of one move, by what it writes (row, sorted index, tiers), and of an event beside its moves."""

    entry: float
    listed: float
    tiers: float
    rest: float

    @property
    def move(self) -> float:
        """All of a move."""
        return self.entry + self.listed + self.tiers


Stream = Sequence[Event]


def daily(rng: Random, members: int) -> list[Event]:
    """Everyone once a day, at some time of it."""
    return [Event(day * DAY + rng.randrange(DAY), member) for day in range(DAYS) for member in range(members)]


def sessions(rng: Random, members: int) -> list[Event]:
    """Every day a third of the members play for twenty minutes: an activity a minute or so."""
    found = []
    for day in range(DAYS):
        for member in rng.sample(range(members), members // 3):
            at = day * DAY + rng.randrange(DAY - 7200)
            for _ in range(20):
                at += 1 + round(rng.expovariate(1 / 60))
                found.append(Event(at, member))
    return found


def views(rng: Random, members: int) -> list[Event]:
    """Twenty views for each member and day on average, most of them of few members (Zipf)."""
    weights = [1 / (place + 1) for place in range(members)]
    chosen = rng.choices(range(members), weights, k=20 * members * DAYS)
    return [Event(rng.randrange(DAYS * DAY), member) for member in chosen]


STREAMS: Final[dict[str, Callable[[Random, int], list[Event]]]] = {
    "once a day": daily,
    "sessions": sessions,
    "views": views,
}


def distinct(stream: Stream, seconds: int) -> int:
    """How often anyone is moved where all activities of a member within so many seconds are one move."""
    return len({(event.at // seconds, event.member) for event in stream})


def ways(stream: Stream, periods: int, prices: Prices) -> dict[str, float]:
    """Write units of one activity for one rolling window of so many periods, by how its periods are kept."""
    events = len(stream)
    at_once, waited, turned = (distinct(stream, seconds) / events for seconds in (1, 300, DAY))
    return {
        "at once": at_once * periods * prices.move,
        "batches of 60 s": distinct(stream, 60) / events * periods * prices.move,
        "batches of 300 s": waited * periods * prices.move,
        "to come: after 300 s": (at_once + waited * (periods - 1)) * prices.move,
        "to come: before their turn": (at_once + turned * (periods - 1)) * prices.move,
        "one entry": at_once * (prices.entry + prices.listed + periods * prices.tiers),
    }


class Listed(NamedTuple):
    """A member in the list of its last active bucket: its sum there, which bounds today's, and today's."""

    bound: int
    score: int


def lists(rng: Random, members: int, periods: int) -> list[list[Listed]]:
    """The lists of the periods' buckets, highest bound first: of members that are active on two days of seven."""
    found: list[list[Listed]] = [[] for _ in range(periods)]
    for _ in range(members):
        # Buckets by age; what is older than the window counted when the member was last active.
        sums = {age: round(rng.lognormvariate(5.99, 1.2)) for age in range(2 * periods) if rng.random() < 2 / 7}
        score = sum(points for age, points in sums.items() if age < periods)
        if score:
            last = min(sums)
            bound = sum(points for age, points in sums.items() if age < last + periods)
            found[last].append(Listed(bound, score))
    for entries in found:
        entries.sort(reverse=True)
    return found


def top(found: Sequence[Sequence[Listed]], count: int) -> int:
    """Entries read by a merge for the exact top: pages of the list that may hold a better one, until none can."""
    read = [0] * len(found)
    best: list[int] = []
    while True:
        ahead = {
            number: entries[read[number]].bound for number, entries in enumerate(found) if read[number] < len(entries)
        }
        open_ = [number for number, bound in ahead.items() if len(best) < count or bound > best[0]]
        if not open_:
            return sum(read)
        number = max(open_, key=ahead.__getitem__)
        for one in found[number][read[number] : read[number] + PAGE_OF // len(found) + 1]:
            read[number] += 1
            if len(best) < count:
                heappush(best, one.score)
            else:
                heappushpop(best, one.score)


def deep(found: Sequence[Sequence[Listed]], first: int, count: int) -> int:
    """Entries read for a page from a position on: the tiers give its scores; whoever's bound reaches them may be in it.

    In the list of today's bucket bounds are scores: there it is a range.
    """
    scores = sorted((one.score for entries in found for one in entries), reverse=True)
    high, low = scores[first], scores[min(first + count, len(scores)) - 1]
    today = [-one.bound for one in found[0]]
    read = bisect_left(today, -low + 1) - bisect_left(today, -high)
    return read + sum(bisect_left([-one.bound for one in entries], -low + 1) for entries in found[1:])


def measured(out: Output) -> Prices:
    """What a move costs, from the result of `benchmarks.measure.units`: two boards that differ by eight rankings."""
    writes: Mapping[str, Any] = out.result("units")["writes"]
    alone, shipped = (writes[name]["by_table"] for name in ("`all` alone", "`all`, `day` and `last-7-days`"))
    rankings = (shipped["Rankings"] - alone["Rankings"]) / RANKINGS_BESIDE
    index = (shipped["Rankings/places"] - alone["Rankings/places"]) / RANKINGS_BESIDE
    entry = 2.0  # one item below 1 KB in a transaction
    return Prices(entry, round(index, 3), round(rankings - entry, 3), alone["Receipts"] + alone["Scores"])


def measure(out: Output) -> dict[str, Any]:
    """Everything that is in the result."""
    prices = measured(out)
    members = MEMBERS // 10 if out.small else MEMBERS
    writes, reads = [], []
    for name, make in STREAMS.items():
        stream = make(Random(name), members)
        for periods in WINDOWS:
            units = {way: round(cost, 2) for way, cost in ways(stream, periods, prices).items()}
            writes.append({"stream": name, "periods": periods, "events": len(stream), "units": units})
    for members in LISTED[:1] if out.small else LISTED:
        for periods in WINDOWS:
            found = lists(Random(members), members, periods)
            there = sum(map(len, found))
            row = {
                "top": top(found, TOP),
                "at_1000": deep(found, 1_000, TOP),
                "at_middle": deep(found, there // 2, TOP),
            }
            size = ENTRY_BYTES + SUM_BYTES * periods
            units = {what: round(0.5 * max(1, entries * size / READ_BYTES), 1) for what, entries in row.items()}
            saved = (periods - 1) * (prices.entry + prices.listed) * WRITE_TO_READ
            pays = round(saved / units["at_middle"], 2)
            reads.append({"members": there, "periods": periods, "entries": row, "units": units, "pays_below": pays})
    return {"prices": prices._asdict(), "writes": writes, "reads": reads}


def of_writes(result: Mapping[str, Any]) -> Iterator[str]:
    """Write units of one activity for a rolling window, by stream and way."""
    kinds = list(result["writes"][0]["units"])
    yield f"| window | stream | {' | '.join(kinds)} |"
    yield "|---" * (len(kinds) + 2) + "|"
    for row in result["writes"]:
        costs = " | ".join(f"{row['units'][kind]:.1f}" for kind in kinds)
        yield f"| last-{row['periods']}-days | {row['stream']} | {costs} |"


def of_reads(result: Mapping[str, Any]) -> Iterator[str]:
    """Entries and read units of one entry for each member."""
    yield "| window | members | the top 100 | 100 at position 1,000 | 100 at the middle | pays below |"
    yield "|---" * 6 + "|"
    for row in result["reads"]:
        cells = (f"{row['units'][what]:,} units ({row['entries'][what]:,} entries)" for what in row["entries"])
        yield f"| last-{row['periods']}-days | {row['members']:,} | {' | '.join(cells)} | {row['pays_below']:g} |"


TABLES: Final = {"writes": of_writes, "reads": of_reads}


def main(arguments: list[str]) -> int:
    """Count, keep the result and bring the page up to date."""
    if arguments[:1] == ["--stream"]:
        stream = [Event(int(at), member) for at, member in _read(Path(arguments[1]))]
        rows = [
            {"stream": arguments[1], "periods": periods, "units": ways(stream, periods, measured(Output()))}
            for periods in WINDOWS
        ]
        print("\n".join(of_writes({"writes": rows})))
        return 0
    out = output(arguments, __doc__)
    result = measure(out)
    out.publish("rolling", result, PAGE, "make bench", TABLES)
    print("\n".join((*of_writes(result), *of_reads(result))))
    return 0


def _read(path: Path) -> list[tuple[str, str]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        return [(row["epoch_seconds"], row["member"]) for row in csv.DictReader(lines)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
