"""What a load comes to in things that are charged for: of one event, one read, a month of storage, a stack at rest."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from benchmarks.models import assumed
from benchmarks.models.cost.prices import Bill
from benchmarks.models.cost.usage import Settings, Traffic, storage, usage

GIGABYTE: Final = 1e9
DAY: Final = 86_400
MAX_RECEIVED: Final = 10
"""Messages that one request takes off a queue, or removes from it."""

READS: Final = {
    "rank": ("few equals", "rank of a member"),
    "top-100": ("few equals", "top 100"),
    "around": ("few equals", "around a member, 5 on each side"),
    "page-at-the-middle": ("few equals", "100 at the middle"),
    "group-of-100": ("few equals", "ranks of a group of 100"),
    "rank-with-previous": ("as shipped", "rank of a member with the previous rank"),
}
"""Reads by the names they have here, and in the result of `benchmarks.measure.reads`: board and read."""


@dataclass(frozen=True, slots=True)
class Load:
    """Boards alike, and what happens on all of them together. `traffic.batch` events come together, of all boards."""

    settings: Settings
    traffic: Traffic
    boards: int = 1
    events_per_second: float = 10.0
    reads_per_second: float = 100.0
    read: str = "rank"
    sent_together: int = 1
    """Events that a producer sends in one request."""


def gathered(events_per_second: float, window: float) -> int:
    """How many events come together in one run of the writer, if nobody says."""
    return max(1, min(1_000, round(events_per_second * window / assumed.POLLERS)))


def of_event(load: Load) -> Bill:
    """What one event comes to, from the queue to the index."""
    batch = load.traffic.batch
    mine = _on_one_board(load)
    used = usage(load.settings, mine)
    writer = (
        assumed.INVOCATION
        + batch * assumed.EVENT
        + ceil(batch * used.writer_transactions) * (assumed.TRANSACTION + (assumed.READ if used.read_units else 0.0))
    )
    in_a_row = max(ceil(used.longest * mine.batch), batch * used.projector_transactions / assumed.SIDE_BY_SIDE)
    projector = (
        assumed.INVOCATION
        + batch * (used.records * assumed.EVENT + used.moves * assumed.MOVE)
        + in_a_row * assumed.TRANSACTION
    )
    return Bill(
        write_units=used.write_units,
        read_units=used.read_units,
        queue_requests=1 / load.sent_together + 2 / min(MAX_RECEIVED, batch),
        invocations=2 / batch,
        gigabyte_seconds=assumed.MEMORY * (writer + projector) / batch,
        logged_gigabytes=2 * assumed.LOGGED / batch / GIGABYTE,
    )


def _on_one_board(load: Load) -> Traffic:
    """The part of a batch that one board has."""
    traffic = load.traffic
    return Traffic(
        traffic.members,
        traffic.median,
        traffic.steps,
        max(1, round(traffic.batch / load.boards)),
        traffic.active,
        traffic.daily,
        traffic.improving,
        traffic.fresh,
    )


def of_read(read_units: float) -> Bill:
    """What one read over the API comes to."""
    return Bill(
        read_units=read_units,
        api_requests=1,
        invocations=1,
        gigabyte_seconds=assumed.MEMORY * assumed.ANSWER,
        logged_gigabytes=assumed.LOGGED / GIGABYTE,
    )


def read_units(result: Mapping[str, Any], read: str, members: int) -> float:
    """The most that a read took in `reads.json`, at the number of members next to that many."""
    board, name = READS[read]
    rows = [row for row in result["reads"] if (row["board"], row["read"]) == (board, name)]
    nearest = min(rows, key=lambda row: abs(row["members"] - members))
    return float(nearest["read_units_most"])


def of_storage(load: Load) -> Bill:
    """What a month of what is stored comes to, once receipts have begun to expire."""
    kept = storage(load.settings, load.traffic)
    members = load.boards * load.traffic.members
    scores = members * kept.member / GIGABYTE
    receipts = load.events_per_second * DAY * kept.receipts / GIGABYTE
    rankings = members * kept.entries / GIGABYTE
    return Bill(stored_gigabytes=scores + receipts + rankings, recoverable_gigabytes=scores + receipts)


def at_rest() -> Bill:
    """What a month comes to whatever happens: pollers at the queue, and the stack's own metrics."""
    polls = assumed.POLLERS * assumed.MONTH / assumed.LONG_POLL
    return Bill(queue_requests=polls, custom_metrics=assumed.METRICS)


def of_month(load: Load, reads: Mapping[str, Any]) -> dict[str, Bill]:
    """A month in its parts."""
    events = load.events_per_second * assumed.MONTH
    units = read_units(reads, load.read, load.traffic.members)
    return {
        "events": of_event(load).times(events),
        "reads": of_read(units).times(load.reads_per_second * assumed.MONTH),
        "storage": of_storage(load),
        "at rest": at_rest(),
    }
