"""The billed amounts of a settled period.

`tests/functions/maintain/test_settle.py` holds them against counts.
"""

import math
from collections.abc import Iterator
from typing import Any, Final

from benchmarks.models.cost.prices import Bill, Prices

PART: Final = 50_000  # Lines of a file
REMEMBERED: Final = 500  # Events whose ids share an object
SLOTS: Final = 64

SIZES: Final = ((1_000, 100), (100_000, 10_000), (1_000_000, 10_000))
"""Members, and how many of them win a prize."""


def of_settlement(members: int, winners: int) -> Bill:
    """Return the amounts of a settlement of one ranking, but for the function's time.

    Of each member it reads the item twice, the row, and the entry in the list twice.
    """
    parts = max(1, math.ceil(members / PART))
    remembered = math.ceil((winners + 1) / REMEMBERED)
    slots = 0.5 * SLOTS
    return Bill(
        read_units=slots + members * UNITS_OF_A_MEMBER,
        bucket_writes=2 * parts + 2 + remembered + LISTS + remembered,
        bucket_reads=2 * parts + LOOKS,
        bus_events=winners + 1,
    )


UNITS_OF_A_MEMBER: Final = 1.03
"""Read units of a member, counted on the tests' engine at 5,000 members."""
LISTS: Final = 3
"""Lists of the bucket, which cost as much as writes: parts that an earlier try left, ids of events, once more each."""
LOOKS: Final = 5
"""Reads of small objects: the summary, and whether all events were put."""


def rows(prices: Prices) -> Iterator[dict[str, Any]]:
    for members, winners in SIZES:
        bill = of_settlement(members, winners)
        yield {
            "members": members,
            "winners": winners,
            "read_units": round(bill.read_units),
            "requests": round(bill.bucket_writes + bill.bucket_reads),
            "events": round(bill.bus_events),
            "dollars": round(prices.total(bill), 4),
        }
