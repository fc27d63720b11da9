"""What rolling windows cost, and what they would cost if their N periods were kept up to date in other ways.

`make bench` (or `python -m benchmarks.measure.rolling`) writes `benchmarks/results/rolling.json` and the tables of
`docs/decisions/0012-rolling-windows-move-at-once.md`. With `--stream activity.csv` (header `id,epoch_seconds,member`,
gzipped or not) it prints what your own stream would cost instead.

It counts the moves of each stream. The price of a move is the one that `benchmarks.measure.units` has measured. The
other ways do not exist; their costs leave out the reads and retries that they would need as well.
"""

import sys
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from heapq import heappush, heappushpop
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from benchmarks.harness.results_file import Output, output
from benchmarks.measure.activity_streams import DAY, STREAMS, Stream, read_stream

PAGE: Final = "docs/decisions/0012-rolling-windows-move-at-once.md"
MEMBERS: Final = 2_000
WINDOWS: Final = (7, 30)
RANKINGS_BESIDE: Final = 8
"""Rankings of the shipped board besides `all`: `day` and the seven periods of `last-7-days`."""
LISTED: Final = (10_000, 100_000)
TOP: Final = 100
PAGE_OF: Final = 100
ENTRY_BYTES: Final = 100
"""Bytes of an index row with an id of 20 bytes."""
SUM_BYTES: Final = 6
"""Bytes that each bucket's sum adds to an index row."""
READ_BYTES: Final = 4096
WRITE_TO_READ: Final = 5
"""The price of a write unit in read units, on demand."""


class Prices(NamedTuple):
    """Write units of one move (its entry, the index, the tiers), and of the rest of an event."""

    entry: float
    listed: float
    tiers: float
    rest: float

    @property
    def move(self) -> float:
        """Write units of a whole move."""
        return self.entry + self.listed + self.tiers


def distinct(stream: Stream, seconds: int) -> int:
    """Count the moves if all activities of a member within so many seconds are one move."""
    return len({(event.at // seconds, event.member) for event in stream})


def write_units(stream: Stream, periods: int, prices: Prices) -> dict[str, float]:
    """Return the write units of one activity for a rolling window of so many periods, for each way to keep them."""
    events = len(stream)
    second, minutes, day = (distinct(stream, seconds) / events for seconds in (1, 300, DAY))
    return {
        "at once": second * periods * prices.move,
        "batches of 60 s": distinct(stream, 60) / events * periods * prices.move,
        "batches of 300 s": minutes * periods * prices.move,
        "to come: after 300 s": (second + minutes * (periods - 1)) * prices.move,
        "to come: before their turn": (second + day * (periods - 1)) * prices.move,
        "one entry": second * (prices.entry + prices.listed + periods * prices.tiers),
    }


class Listed(NamedTuple):
    """A member in the list of its last active bucket: its sum in that bucket, which bounds its score, and its score."""

    bound: int
    score: int


def lists(rng: Random, members: int, periods: int) -> list[list[Listed]]:
    """Draw the lists of the periods' buckets, highest bound first; members are active on two days of seven."""
    buckets: list[list[Listed]] = [[] for _ in range(periods)]
    for _ in range(members):
        # Sums by the age of the bucket; buckets older than the window still counted when the member was last active.
        sums = {age: round(rng.lognormvariate(5.99, 1.2)) for age in range(2 * periods) if rng.random() < 2 / 7}
        score = sum(points for age, points in sums.items() if age < periods)
        if score:
            last = min(sums)
            bound = sum(points for age, points in sums.items() if age < last + periods)
            buckets[last].append(Listed(bound, score))
    for entries in buckets:
        entries.sort(reverse=True)
    return buckets


def top(buckets: Sequence[Sequence[Listed]], count: int) -> int:
    """Count the entries that a merge reads for the exact top: pages of any list that may have a better member."""
    read = [0] * len(buckets)
    best: list[int] = []
    while True:
        ahead = {
            number: entries[read[number]].bound for number, entries in enumerate(buckets) if read[number] < len(entries)
        }
        open_ = [number for number, bound in ahead.items() if len(best) < count or bound > best[0]]
        if not open_:
            return sum(read)
        number = max(open_, key=ahead.__getitem__)
        for one in buckets[number][read[number] : read[number] + PAGE_OF // len(buckets) + 1]:
            read[number] += 1
            if len(best) < count:
                heappush(best, one.score)
            else:
                heappushpop(best, one.score)


def deep(buckets: Sequence[Sequence[Listed]], first: int, count: int) -> int:
    """Count the entries read for a page at a position.

    The tiers give the scores of the page. Every member whose bound reaches them may be on it. In the list of today's
    bucket bounds are scores, so only the page's own range is read there.
    """
    scores = sorted((one.score for entries in buckets for one in entries), reverse=True)
    high, low = scores[first], scores[min(first + count, len(scores)) - 1]
    today = [-one.bound for one in buckets[0]]
    read = bisect_left(today, -low + 1) - bisect_left(today, -high)
    return read + sum(bisect_left([-one.bound for one in entries], -low + 1) for entries in buckets[1:])


def measured(out: Output) -> Prices:
    """Return the prices by the result of `benchmarks.measure.units`, whose two boards differ by eight rankings."""
    writes: Mapping[str, Any] = out.result("units")["writes"]
    alone, shipped = (writes[name]["by_table"] for name in ("`all` alone", "`all`, `day` and `last-7-days`"))
    rankings = (shipped["Rankings"] - alone["Rankings"]) / RANKINGS_BESIDE
    index = (shipped["Rankings/places"] - alone["Rankings/places"]) / RANKINGS_BESIDE
    entry = 2.0  # one item below 1 KB in a transaction
    return Prices(entry, round(index, 3), round(rankings - entry, 3), alone["Receipts"] + alone["Scores"])


def measure(out: Output) -> dict[str, Any]:
    """Return the whole result."""
    prices = measured(out)
    members = MEMBERS // 10 if out.small else MEMBERS
    writes, reads = [], []
    for name, make in STREAMS.items():
        stream = make(Random(name), members)
        for periods in WINDOWS:
            units = {way: round(cost, 2) for way, cost in write_units(stream, periods, prices).items()}
            writes.append({"stream": name, "periods": periods, "events": len(stream), "units": units})
    for members in LISTED[:1] if out.small else LISTED:
        for periods in WINDOWS:
            buckets = lists(Random(members), members, periods)
            listed = sum(map(len, buckets))
            row = {
                "top": top(buckets, TOP),
                "at_1000": deep(buckets, 1_000, TOP),
                "at_middle": deep(buckets, listed // 2, TOP),
            }
            size = ENTRY_BYTES + SUM_BYTES * periods
            units = {page: round(0.5 * max(1, entries * size / READ_BYTES), 1) for page, entries in row.items()}
            saved = (periods - 1) * (prices.entry + prices.listed) * WRITE_TO_READ
            pays = round(saved / units["at_middle"], 2)
            reads.append({"members": listed, "periods": periods, "entries": row, "units": units, "pays_below": pays})
    return {"prices": prices._asdict(), "writes": writes, "reads": reads}


def of_writes(result: Mapping[str, Any]) -> Iterator[str]:
    """Return the table of write units of one activity, by stream and way."""
    kinds = list(result["writes"][0]["units"])
    yield f"| window | stream | {' | '.join(kinds)} |"
    yield "|---" * (len(kinds) + 2) + "|"
    for row in result["writes"]:
        costs = " | ".join(f"{row['units'][kind]:.1f}" for kind in kinds)
        yield f"| last-{row['periods']}-days | {row['stream']} | {costs} |"


def of_reads(result: Mapping[str, Any]) -> Iterator[str]:
    """Return the table of reads with one entry for each member."""
    yield "| window | members | top 100 | 100 at position 1,000 | 100 at the middle | pays off below |"
    yield "|---" * 6 + "|"
    for row in result["reads"]:
        cells = (f"{row['units'][page]:,} units ({row['entries'][page]:,} entries)" for page in row["entries"])
        yield f"| last-{row['periods']}-days | {row['members']:,} | {' | '.join(cells)} | {row['pays_below']:g} |"


TABLES: Final = {"writes": of_writes, "reads": of_reads}


def main(arguments: list[str]) -> int:
    """Count, write the result and update the page."""
    if arguments[:1] == ["--stream"]:
        stream = read_stream(Path(arguments[1]))
        rows = [
            {"stream": arguments[1], "periods": periods, "units": write_units(stream, periods, measured(Output()))}
            for periods in WINDOWS
        ]
        print("\n".join(of_writes({"writes": rows})))
        return 0
    out = output(arguments, __doc__)
    result = measure(out)
    out.publish("rolling", result, PAGE, "make bench", TABLES)
    print("\n".join((*of_writes(result), *of_reads(result))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
