"""The billed amounts of a load: of one event, one read, a month of storage, a stack at rest."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from statistics import mean
from typing import Any, Final

from benchmarks.harness.results_file import Output
from benchmarks.models import assumed
from benchmarks.models.cost.counted import Settings, Traffic, Usage, usage
from benchmarks.models.cost.prices import Bill
from standings.domain.windows import Window

Counted = Sequence[Mapping[str, Any]]
"""What each kind of read costs, by board: the rows of `counted_reads`."""

GIGABYTE: Final = 1e9
DAY: Final = 86_400
MAX_RECEIVED: Final = 10
"""Messages that one request receives from a queue, or deletes."""

READS: Final = {
    "rank": ("few equals", "rank of a member"),
    "top-100": ("few equals", "top 100"),
    "around": ("few equals", "around a member, 5 on each side"),
    "page-at-the-middle": ("few equals", "100 at the middle"),
    "group-of-100": ("few equals", "ranks of a group of 100"),
    "rank-with-previous": ("`all` and `day`", "rank of a member with the previous rank"),
}
"""The board and the read in the result of `make reads`, by the names of this command."""
ROLLING: Final = {7: "`last-7-days`, two days of seven", 30: "`last-30-days`, two days of seven"}
"""The boards in that result, by the size of their window."""


API: Final = "over the API"
UNLOGGED: Final = "over the API, no access log"
URL: Final = "over the function URL"
DIRECT: Final = "by invocation"
CLIENT: Final = "from your own backend (client)"
WAYS: Final = (API, UNLOGGED, URL, DIRECT, CLIENT)
"""Ways of a read: the second with `AccessLog=false`, the third and the fourth reach the query function without the API,
for the same price, the last reads the tables in a process of the caller's own, which is not counted."""


@dataclass(frozen=True, slots=True)
class Load:
    """Boards of the same settings and the load on all of them; `traffic.batch` counts the events of all boards."""

    settings: Settings
    traffic: Traffic
    boards: int = 1
    events_per_second: float = 10.0
    reads_per_second: float = 100.0
    read: str = "rank"
    sent_together: int = 1
    """Events in a producer's request."""
    way: str = API
    """The way of its reads."""
    memory: float = assumed.MEMORY
    """Gigabytes of each function."""
    pollers: int = assumed.POLLERS


def gathered(events_per_second: float, window: float, pollers: int = assumed.POLLERS) -> int:
    """Return the usual batch of the writer at this rate and batching window."""
    return max(1, min(1_000, round(events_per_second * window / pollers)))


def waiting(load: Load, window: float) -> Load:
    """Return a load at another `WriterBatchingWindow`, in seconds."""
    batch = gathered(load.events_per_second, window, load.pollers)
    return replace(load, traffic=replace(load.traffic, batch=batch))


def loads(settings: Settings, rates: Sequence[tuple[float, float, int]]) -> Iterator[tuple[dict[str, Any], Load]]:
    """Yield boards under rates of events, reads and members, each with its rates by name and its usual batch."""
    for events, read, members in rates:
        traffic = Traffic(members, batch=gathered(events, 1), daily=events * DAY / members)
        named = {"events_per_second": events, "reads_per_second": read, "members": members}
        yield named, Load(settings, traffic, 1, events, read)


def on_one_board(load: Load) -> tuple[Settings, Traffic]:
    """Return the settings and the traffic of one of the load's boards, which has its share of a batch."""
    return load.settings, replace(load.traffic, batch=max(1, round(load.traffic.batch / load.boards)))


def used_by(load: Load) -> Usage:
    """Return what an event of the load uses, counted on one of its boards."""
    return usage(*on_one_board(load))


def of_event(load: Load) -> Bill:
    """Return the amounts of one event, from the queue to the index.

    The transactions of one ranking follow each other; those of different rankings are in flight at once.
    """
    batch = load.traffic.batch
    used = used_by(load)
    rankings = load.settings.metrics * len(load.settings.windows)
    writer = assumed.worked(assumed.INVOCATION + batch * assumed.EVENT, load.memory) + ceil(
        batch * used.writer_transactions
    ) * (assumed.TRANSACTION + (assumed.READ if used.read_units else 0.0))
    transactions = batch * used.projector_transactions
    consecutive = max(ceil(transactions / load.boards / rankings), transactions / assumed.SIDE_BY_SIDE)
    own = assumed.INVOCATION + batch * (used.records * assumed.EVENT + used.moves * assumed.MOVE)
    projector = (
        assumed.worked(own, load.memory)
        + consecutive * assumed.TRANSACTION
        + assumed.single_writes(batch * used.single_writes, load.memory)
    )
    return Bill(
        write_units=used.write_units,
        read_units=used.read_units,
        queue_requests=1 / load.sent_together + 2 / min(MAX_RECEIVED, batch),
        invocations=2 / batch,
        gigabyte_seconds=load.memory * (writer + projector) / batch,
        logged_gigabytes=sum(assumed.METRICS_LOGGED.values()) / batch / GIGABYTE,
    )


def of_read(read_units: float, way: str = API, memory: float = assumed.MEMORY) -> Bill:
    """Return the amounts of one read that goes well."""
    bill = Bill(read_units=read_units)
    if way != CLIENT:
        seconds = assumed.WAITED + assumed.worked(assumed.ANSWER - assumed.WAITED, memory)
        bill += Bill(invocations=1, gigabyte_seconds=memory * seconds)
    if way in (API, UNLOGGED):
        bill += Bill(api_requests=1)
    return bill + Bill(logged_gigabytes=assumed.ACCESS_LOGGED / GIGABYTE) if way == API else bill


def counted_reads(results: Output) -> Counted:
    """Return what each kind of read costs on boards with `all` and calendar windows, and on those with rolling ones."""
    counted: Counted = results.result("reads")["reads"]
    return counted


def read_units(counted: Counted, read: str, window: Window, members: int) -> float:
    """Return the most read units of a read in this window, on the counted board that is nearest to it."""
    board, name = READS[read]
    if window.rolling:
        board, name = ROLLING[min(ROLLING, key=lambda size: abs(size - window.size))], f"{name}, at noon"
    rows = [row for row in counted if (row["board"], row["read"]) == (board, name)]
    nearest = min(rows, key=lambda row: abs(row["members"] - members))
    return float(nearest["read_units_most"])


def units_of_reads(load: Load, counted: Counted) -> float:
    """Return the read units of one of the load's reads, which go to the windows of its boards in equal shares."""
    windows = load.settings.family.metrics["points"].windows
    return mean(read_units(counted, load.read, window, load.traffic.members) for window in windows)


def of_storage(load: Load) -> Bill:
    """Return the amounts of a month of storage, once receipts expire as fast as they come."""
    used = used_by(load)
    members = load.boards * load.traffic.members
    scores = members * used.member_bytes / GIGABYTE
    receipts = load.events_per_second * DAY * used.receipt_byte_days / GIGABYTE
    indexed = members * (used.keys_bytes + used.entries_bytes) / GIGABYTE
    return Bill(stored_gigabytes=scores + receipts + indexed, recoverable_gigabytes=scores + receipts)


def at_rest(pollers: int = assumed.POLLERS) -> Bill:
    """Return the amounts of a month without load: pollers at the queue, the stack's own metrics, the tables' keys."""
    polls = pollers * assumed.MONTH / assumed.LONG_POLL
    return Bill(queue_requests=polls, custom_metrics=assumed.METRICS) + of_table_keys()


def of_table_keys() -> Bill:
    """Return the requests to KMS of a month for the keys of the tables, whoever's they are; none without load."""
    return Bill(key_requests=assumed.TABLE_READERS * assumed.MONTH / assumed.KEY_REUSED)


def of_month(load: Load, reads: Counted) -> dict[str, Bill]:
    events = load.events_per_second * assumed.MONTH
    units = units_of_reads(load, reads)
    return {
        "events": of_event(load).times(events),
        "reads": of_read(units, load.way, load.memory).times(load.reads_per_second * assumed.MONTH),
        "storage": of_storage(load),
        "at rest": at_rest(load.pollers),
    }


def in_all(load: Load, reads: Counted) -> Bill:
    """Return the amounts of a month, all parts together."""
    return sum(of_month(load, reads).values(), Bill())


SAMPLED: Final = 0.05
"""The share of a function's runs that Lambda traces, besides the first of each second.

https://docs.aws.amazon.com/lambda/latest/dg/services-xray.html
"""


def traced(runs: float) -> float:
    """Return the traces a second of a function with so many runs a second."""
    return min(runs, 1.0) + SAMPLED * max(0.0, runs - 1.0)


def of_tracing(load: Load) -> Bill:
    """Return the traces of a month with `Tracing: Active`: of the writer, the projector and the query function."""
    traces = 2 * traced(load.events_per_second / load.traffic.batch) + traced(load.reads_per_second)
    return Bill(traces=traces * assumed.MONTH)


def of_own_key() -> Bill:
    """Return the amounts of a month of a key of one's own: the key, and its use by tables and by the queue.

    SQS asks twice for each producer and once for each consumer in each period for which it reuses a data key.
    https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html
    """
    asked = 2 * assumed.PRODUCERS + 1
    return Bill(key_months=1, key_requests=of_table_keys().key_requests + asked * assumed.MONTH / assumed.KEY_REUSED)
