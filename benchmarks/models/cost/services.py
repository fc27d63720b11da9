"""The billed amounts of the same boards on other services: caches, an object with SQLite, a server of one's own.

Each keeps the same windows as ours, in the cheapest way that we know. A sorted set stands for each period and is kept
until nothing needs it. The sum of the last N days is one more set, which the sets of the days replace at each midnight.
None counts a redelivered event only once. A cache may lose scores with a node, so a table beside it has each member's
in one item; durable Valkey needs none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, exp
from typing import Final

from benchmarks.models import assumed
from benchmarks.models.cost.counted import LENGTH
from benchmarks.models.cost.prices import Bill
from benchmarks.models.cost.spending import GIGABYTE, Load, of_event, of_read, used_by
from standings.domain.windows import DAY, SECOND

HOURS: Final = assumed.MONTH / 3600
CACHED: Final = 150.0
"""Bytes of an entry of a sorted set: the id, the score, and the two structures that hold them."""
COMMANDS_OF_A_RANK: Final = 2
"""A member's score, and how many have a higher one."""

RESERVED: Final = 0.25
"""The share of a node's memory that holds no data.

https://docs.aws.amazon.com/AmazonElastiCache/latest/dg/redis-memory-management.html
"""
NODES: Final = {"micro_node_hours": 0.5, "medium_node_hours": 3.09, "large_node_hours": 13.07}
"""GiB of cache.t4g.micro, cache.t4g.medium and cache.r7g.large."""
LEAST_VALKEY: Final = 0.1
"""Gigabytes that a serverless cache is charged for at least."""
UPSTASH_MOST: Final = 10_000
"""Commands that Upstash takes each second."""
UPSTASH_LARGE: Final = 10
"""Gigabytes of its larger fixed plan; the smaller has one."""

DSQL_WRITE: Final = 0.00004883
DSQL_READ: Final = 0.00000183105
"""Processing units of DSQL of a byte that is written or read; a transaction counts as 1,024 and 2,048 at least."""
DSQL_ROW: Final = 128
"""Bytes of a row, the least that DSQL counts."""
DSQL_ROWS: Final = 7
"""Rows of a move in a set, a guess: the member's, its place in an index, and five counters. A rank reads as many."""
DSQL_EVENT: Final = 0.010
DSQL_RANK: Final = 0.003
"""Seconds of processing of an event and of a rank, guesses; each is one unit."""

OBJECT_MOST: Final = 1_000
"""Requests a second that one Durable Object bears, a soft limit.

https://developers.cloudflare.com/durable-objects/platform/limits
"""
OBJECT_MEMORY: Final = 0.128
"""Gigabytes of a Durable Object."""
OBJECT_ENTRY: Final = 100.0
"""Bytes of a member in the memory of an object, for each window; a guess."""
INCLUDED: Final = Bill(worker_requests=10e6, object_requests=1e6, object_seconds=400e3, object_rows=50e6)
"""What Cloudflare's plan includes each month."""

SMALL_SERVER: Final = 200
LARGE_SERVER: Final = 5_000
"""Requests a second of a t3.micro and of an m7g.large with SQLite, and the ranks in memory; guesses."""
DISK: Final = 20.0
"""Gigabytes of a server's disk."""


@dataclass(frozen=True, slots=True)
class Sets:
    """The sorted sets of a load, of all its boards together.

    - `periods`: sets of periods that an event adds to, `sums`: sets of sums that it adds to.
    - `entries`: of all sets, `shown`: of those that are read.
    - `merged`: entries that are added up in a month, where a rolling window begins its next period.
    """

    periods: int
    sums: int
    entries: float
    shown: float
    merged: float


def sets_of(load: Load) -> Sets:
    """Return the sets of a load."""
    metrics, members, daily = load.settings.metrics, load.boards * load.traffic.members, load.traffic.daily or 1.0
    windows = load.settings.family.metrics["points"].windows

    def active(span: int) -> float:
        return members * (1 - exp(-daily * span / DAY))

    totals = float(members * sum(window.unit is None for window in windows))
    shown, stored, merged, kept = totals, totals, 0.0, dict[str, int]()
    for window in windows:
        if window.unit is None:
            continue
        length = LENGTH[window.unit]
        shown += active(window.size * length)
        kept[window.unit] = max(kept.get(window.unit, 0), window.size + 1)
        if window.rolling:
            stored += active(window.size * length)
            merged += window.size * active(length) * assumed.MONTH * SECOND / length
    sums = sum(window.rolling for window in windows)
    stored += sum(periods * active(LENGTH[unit]) for unit, periods in kept.items())
    periods = len(kept) + bool(totals)
    return Sets(metrics * periods, metrics * sums, metrics * stored, metrics * shown, metrics * merged)


ONE_FUNCTION: Final = {"write_units": 1, "read_units": 1, "invocations": 0.5, "gigabyte_seconds": 0.5}
"""The shares of an event of ours that a service does not need: tables, the projector, and the lines of metrics."""


def _served(load: Load, write_units: float) -> Bill:
    """Return a month of the queue, one function for events, the way of reads, which are ours, and a table's writes."""
    event = of_event(load).less({**ONE_FUNCTION, "logged_gigabytes": 1}) + Bill(write_units=write_units)
    events = event.times(load.events_per_second * assumed.MONTH)
    return events + of_read(0.0, load.way).times(load.reads_per_second * assumed.MONTH)


def _beside_a_table(load: Load) -> Bill:
    members = load.boards * load.traffic.members
    stored = Bill(stored_gigabytes=members * used_by(load).member_bytes / GIGABYTE)
    return _served(load, write_units=1.0) + stored


def commands(load: Load) -> float:
    sets = sets_of(load)
    each_second = load.events_per_second * (sets.periods + sets.sums) + load.reads_per_second * COMMANDS_OF_A_RANK
    return each_second * assumed.MONTH


def valkey_serverless(load: Load) -> Bill:
    """Return a month of Valkey Serverless beside a table; a merge takes a unit for each entry."""
    sets = sets_of(load)
    gigabytes = max(LEAST_VALKEY, sets.entries * CACHED / GIGABYTE)
    units = commands(load) + sets.merged
    return _beside_a_table(load) + Bill(valkey_gigabyte_hours=gigabytes * HOURS, valkey_units=units)


def nodes(load: Load, each: int) -> Bill:
    """Return a month of the smallest Valkey node that holds the sets, or of as many large ones as they need."""
    needed = sets_of(load).entries * CACHED
    for name, gibibytes in NODES.items():
        if needed <= (held := gibibytes * 2**30 * (1 - RESERVED)):
            return Bill(**{name: each * HOURS})
    return Bill(**{name: each * ceil(needed / held) * HOURS})


def node_and_replica(load: Load) -> Bill:
    """Return a month of a Valkey node and its replica, beside a table."""
    return _beside_a_table(load) + nodes(load, 2)


def durable_valkey(load: Load) -> Bill:
    """Return a month of Valkey with durability `sync`, without a table: a large node and its replica at least."""
    held = NODES["large_node_hours"] * 2**30 * (1 - RESERVED)
    return _served(load, 0.0) + Bill(large_node_hours=2 * HOURS * ceil(sets_of(load).entries * CACHED / held))


def dsql(load: Load) -> Bill:
    """Return a month of a tree of counts in Aurora DSQL, with a transaction for each event. Nobody runs it, we compute.

    https://docs.aws.amazon.com/aurora-dsql/latest/userguide/billing-metering.html
    """
    sets = sets_of(load)
    moved = DSQL_ROW * DSQL_ROWS * (sets.periods + sets.sums)
    event = max(1_024, moved) * DSQL_WRITE + max(2_048, moved) * DSQL_READ + DSQL_EVENT
    rank = max(2_048, DSQL_ROW * DSQL_ROWS) * DSQL_READ + DSQL_RANK
    merged = sets.merged * DSQL_ROW * DSQL_ROWS * DSQL_WRITE
    units = (load.events_per_second * event + load.reads_per_second * rank) * assumed.MONTH + merged
    return _served(load, 0.0) + Bill(dsql_units=units, dsql_gigabytes=2 * sets.entries * DSQL_ROW / GIGABYTE)


def upstash(load: Load, *, fixed: bool = False) -> Bill | None:
    """Return a month of Upstash, by the command or with the smallest fixed plan, without a table.

    None above its commands a second, or above its largest plan here.
    """
    asked, gigabytes = commands(load), sets_of(load).entries * CACHED / GIGABYTE
    if asked > UPSTASH_MOST * assumed.MONTH or (fixed and gigabytes > UPSTASH_LARGE):
        return None
    if fixed:
        plan = Bill(upstash_small_plans=1) if gigabytes <= 1 else Bill(upstash_large_plans=1)
    else:
        plan = Bill(upstash_commands=asked, upstash_gigabytes=max(0.0, gigabytes - 1))
    return _served(load, write_units=0.0) + plan


def durable_object(load: Load) -> Bill | None:
    """Return a month of a Durable Object for each board, on Cloudflare alone; None above what one object bears.

    It writes a row for each period of an event, and keeps the ranks in its memory, awake at all times.
    """
    sets = sets_of(load)
    requests = (load.events_per_second + load.reads_per_second) * assumed.MONTH
    if requests > load.boards * OBJECT_MOST * assumed.MONTH:
        return None
    if sets.shown * OBJECT_ENTRY > load.boards * OBJECT_MEMORY * GIGABYTE:
        return None
    rows = sets.periods * load.events_per_second * assumed.MONTH
    seconds = load.boards * OBJECT_MEMORY * assumed.MONTH
    used = {"worker_requests": requests, "object_requests": requests, "object_seconds": seconds, "object_rows": rows}
    charged = {name: max(0.0, amount - getattr(INCLUDED, name)) for name, amount in used.items()}
    return Bill(worker_plans=1.0, **charged)


def one_server(load: Load) -> Bill:
    """Return a month of a program of one's own on a server with SQLite, which needs no queue, functions or API."""
    requests = load.events_per_second + load.reads_per_second
    disk = Bill(disk_gigabytes=DISK)
    if requests <= SMALL_SERVER and sets_of(load).shown * CACHED <= GIGABYTE / 2:
        return disk + Bill(small_server_hours=HOURS)
    return (disk + Bill(large_server_hours=HOURS)).times(ceil(requests / LARGE_SERVER))


SERVICES: Final[dict[str, Callable[[Load], Bill | None]]] = {
    "Valkey Serverless": valkey_serverless,
    "a cache node and a replica": node_and_replica,
    "durable Valkey": durable_valkey,
    "Aurora DSQL, computed": dsql,
    "Upstash": upstash,
    "Upstash, fixed plan": partial(upstash, fixed=True),
    "a Durable Object": durable_object,
    "a server with SQLite": one_server,
}
CHEAP: Final[Sequence[str]] = ("Valkey Serverless", "a cache node and a replica", "a server with SQLite")
"""The services of the short table: without a node, with a node that may fail, and the least that does it."""
KEEPING: Final = ("Valkey Serverless", "a cache node and a replica", "durable Valkey", "Aurora DSQL, computed")
"""Those on AWS that keep every acknowledged score and have no server of one's own."""
