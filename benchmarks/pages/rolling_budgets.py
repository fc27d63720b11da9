"""The budgets of rolling windows: their events and their reads."""

from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

from benchmarks.measure import rolling_reads
from benchmarks.measure.units import ALL, MONTH, QUARTER, SHIPPED, WIDE, Windows
from benchmarks.members.events import AMOUNTS, BATCH
from benchmarks.members.histories import ONE_DAY, TWO_OF_SEVEN
from benchmarks.pages.budget import Budget, Result

TRANSACTIONS: Final = 3
"""Those of the rows of one event as shipped."""
STREAMS: Final = {"last-7-days": 17, "last-30-days": 50}
"""Write units of an event of a real stream in a rolling window by itself."""
TRIPS: Final = 2
READS: Final = {
    "rank of a member": 7,
    "top 100": 8,
    "100 at the middle": 14,
    "around a member, 5 on each side": 14,
}
"""Read units of reads of the current period of a rolling window."""


class Kind(NamedTuple):
    """Events of one kind: the windows of the board, whether they come together, the members' life and the points."""

    windows: Windows
    kind: str
    life: str = ONE_DAY
    amounts: tuple[int, int] = AMOUNTS


EVENTS: Final = {
    Kind(ALL, "together"): 10,
    Kind(SHIPPED, "together"): 24,
    Kind(SHIPPED, "together", TWO_OF_SEVEN): 30,
    Kind(SHIPPED, "alone"): 38,
    Kind(SHIPPED, "alone", TWO_OF_SEVEN): 44,
    Kind(SHIPPED, "together", ONE_DAY, WIDE): 44,
    Kind(MONTH, "together"): 26,
    Kind(MONTH, "together", TWO_OF_SEVEN): 50,
    Kind(MONTH, "alone"): 55,
    Kind(MONTH, "alone", TWO_OF_SEVEN): 80,
    Kind(QUARTER, "together"): 55,
}
"""Write units of an event."""


def of_events(result: Result) -> Iterator[Budget]:
    """Return the budgets of an event, by windows."""
    rows = {(row["windows"], row["kind"], row["life"], tuple(row["amounts"])): row for row in result["writes"]}
    for kind, most in EVENTS.items():
        row = rows[kind.windows.text, kind.kind, kind.life, kind.amounts]
        units = row["write_units_per_event"]
        life = f", members active on {kind.life}" if kind.life == TWO_OF_SEVEN else ""
        together = f"{BATCH} together" if kind.kind == "together" else kind.kind
        points = "{}–{:,}".format(*kind.amounts)
        subject = f"an event, {kind.windows.text}, {together}, amounts of {points}, {row['members']:,} members{life}"
        yield Budget(subject, f"≤ {most} write units", f"{units:g}", units <= most)
    lone = rows[SHIPPED.text, "alone", ONE_DAY, AMOUNTS]["row_transactions_per_event"]
    yield Budget(
        "transactions for the rows of a lone event as shipped", f"≤ {TRANSACTIONS}", f"{lone:g}", lone <= TRANSACTIONS
    )


def of_streams(result: Result) -> Iterator[Budget]:
    """Return the budgets of a real stream."""
    for window, most in STREAMS.items():
        units = max(row["write_units_per_event"] for row in result["rows"] if row["window"] == window)
        yield Budget(
            f"a real stream of {result['events']:,} events, `{window}` by itself, each event alone",
            f"≤ {most} write units",
            f"{units:g}",
            units <= most,
        )


def of_reads(result: Result) -> Iterator[Budget]:
    """Return the budgets of reads of rolling windows, at every size, at noon and in the first second of a period."""
    for read, board in product(READS, rolling_reads.KINDS):
        rows = [row for row in result["reads"] if row["board"] == board]
        found = [row for row in rows if row["read"] in {f"{read}, {when}" for when in rolling_reads.WHEN}]
        units, trips = (max(row[name] for row in found) for name in ("read_units_most", "round_trips_most"))
        members = max(row["members"] for row in rows)
        most, is_rank = READS[read], read == "rank of a member"
        yield Budget(
            f"{read}, {board}, up to {members:,} members, at noon and in the first second of a period",
            f"≤ {most} read units" + (f", {TRIPS} round trips" if is_rank else ""),
            f"{units:g}" + (f", {trips}" if is_rank else ""),
            units <= most and (trips <= TRIPS or not is_rank),
        )
