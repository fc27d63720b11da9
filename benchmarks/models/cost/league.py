"""The billed amounts of a month of leagues: `examples/leagues` on a stack, for 10,000 players in groups of thirty.

`tests/functions/leagues/test_leagues.py` holds the units of a player and week against counts.
"""

from collections.abc import Iterator
from math import ceil
from typing import Any, Final

from benchmarks.models import assumed
from benchmarks.models.cost import settlements
from benchmarks.models.cost.counted import Settings, Traffic
from benchmarks.models.cost.prices import Bill, Prices
from benchmarks.models.cost.spending import DAY, Counted, Load, at_rest, of_month, of_read, read_units
from standings.domain.windows import parse_window

PLAYERS: Final = 10_000
GROUP: Final = 30
GROUPS: Final = ceil(PLAYERS / GROUP)
WEEKS: Final = assumed.MONTH / (7 * DAY)
"""Weeks of a month."""
EVENTS: Final = 3
"""Events of a player in a day."""
LISTS: Final = 6
"""How often a day a player reads the list of its group, over the API."""
ASKED: Final = 1
"""How often a day a player asks the league where it stands."""
KEPT: Final = 5
"""Weeks for which a board is there: its own, and four until somebody deletes it. It is settled each week."""
RUNS: Final = 96
"""Runs of the schedule in a week: every quarter of an hour on one day."""

SEAT_WRITES: Final = 8
"""Write units of a seat: a transaction of four items."""
SEAT_READS: Final = 4
"""Read units of taking a seat: the seat, the member, the open group, and the seat again."""
MOVED: Final = 1
"""Write units of a new division."""
CLOSED_WRITES: Final = 1
CLOSED_READS: Final = 1
"""Units of closing a group: its counter, and a query of who has a seat."""
STATE_READS: Final = 2
"""Read units of where a member is, besides those of the board: the seat and the member."""
LOOK: Final = 2
"""Read units of a board in a run of the schedule: the next name, and its record."""


def load() -> Load:
    """Return the load of all groups: a board for each, of which players read the top."""
    settings, traffic = Settings(windows=("week",)), Traffic(GROUP, batch=1, daily=EVENTS)
    return Load(settings, traffic, GROUPS, PLAYERS * EVENTS / DAY, PLAYERS * LISTS / DAY, read="top-100")


def parts(reads: Counted) -> dict[str, Bill]:
    """Return the amounts of a month by what they are for; the time of settlements in Lambda comes on top."""
    week = parse_window("week")
    month = of_month(load(), reads)
    board = read_units(reads, "top-100", week, GROUP) + read_units(reads, "rank", week, GROUP)
    enrolled = of_read(SEAT_READS + STATE_READS + board) + Bill(write_units=SEAT_WRITES)
    asked = of_read(STATE_READS + board).times(ASKED * 7)
    boards = GROUPS * KEPT
    settled = settlements.of_settlement(GROUP, 0).times(GROUPS) + settlements.of_settlement(0, 0).times(boards - GROUPS)
    run = Bill(bucket_writes=1, read_units=LOOK)  # A list of the bucket costs as much as a write.
    closed = Bill(
        write_units=CLOSED_WRITES,
        read_units=CLOSED_READS,
        invocations=1,
        gigabyte_seconds=assumed.MEMORY * (assumed.INVOCATION + GROUP * assumed.WRITE),
        bucket_writes=1,
        bucket_reads=1,
    )
    moved = Bill(write_units=MOVED).times(PLAYERS) + closed.times(GROUPS)
    return {
        "points: events": month["events"] + month["storage"],
        "lists: reads over the API": month["reads"],
        "seats: `POST /league` at the first activity of a week": enrolled.times(PLAYERS * WEEKS),
        "where am I: `GET /league`": asked.times(PLAYERS * WEEKS),
        "settlements": settled.times(WEEKS),
        "the schedule that looks for them": run.times(boards * RUNS * WEEKS),
        "rise and fall": moved.times(WEEKS),
        "a stack at rest": at_rest(),
    }


def rows(prices: Prices, reads: Counted) -> Iterator[dict[str, Any]]:
    """Yield what each part costs in a month, and all of them."""
    bills = parts(reads)
    for part, bill in {**bills, "in all": sum(bills.values(), Bill())}.items():
        yield {"part": part, "dollars": round(prices.total(bill), 2)}
