"""What ranks and events cost: read and write units and round trips, counted over the real requests.

`make units` (or `python -m benchmarks.measure.units`) writes `benchmarks/results/units.json` and the table in the
README.
"""

import sys
import time
from collections.abc import Iterator
from random import Random
from statistics import mean
from typing import TYPE_CHECKING, Any, Final

import orjson

from benchmarks.harness import population
from benchmarks.harness.meter import Meter
from benchmarks.harness.results_file import output
from standings.aws.dynamodb.rankings.ranking_reads import DynamoRankingsReader
from standings.aws.dynamodb.rankings.rankings import DynamoRankings
from standings.aws.dynamodb.scores.board_records import DynamoBoards
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.aws.dynamodb.scores.stream_records import decode_change
from standings.catalog.board_catalog import BoardCatalog
from standings.domain.boards.boards_toml import parse_boards
from standings.project.projector import Projector, Record
from standings.read.query import Query
from standings.read.reader import Reader
from standings.runtime.environment import BOARDS_FILE
from standings.runtime.retry import Clock
from standings.write.writer import QueueMessage, Writer
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

if TYPE_CHECKING:
    from benchmarks.harness.capacity_units import Units

PAGE: Final = "README.md"
SIZES: Final = (1_000, 10_000, 100_000)
MEMBERS: Final = 200_000
BATCH: Final = 500
BATCHES: Final = 10
ASKED: Final = 200


def pacing() -> Clock:
    """Clocks that stand still: what is remembered of a board never expires, and no deadline comes."""
    return Clock(lambda: population.NOW, lambda: 0.0, time.sleep, lambda: 0.5)


def reads(members: int, seed: int) -> dict[str, Any]:
    """The cost of a member's rank and of the top 100 on a board of that many members."""
    client, scores = _board(members, seed)
    meter = Meter(client)
    standing = DynamoRankingsReader(meter, "Rankings", "Scores", pacing())  # type: ignore[arg-type]
    query = Query(Reader(population.boards(), standing, pacing()))
    asked = query.asked(population.BOARD, "points", "all")
    query.page(asked, limit=1, cursor=None)  # reads the board's record
    ranks: list[Units] = []
    for name in population.sample(Random(seed), scores, ASKED):
        before = meter.snapshot()
        query.rank(asked, member=name)
        ranks.append((meter.snapshot() - before).total)
    before = meter.snapshot()
    query.page(asked, limit=100, cursor=None)
    page = (meter.snapshot() - before).total
    return {
        "members": members,
        "rank_read_units_mean": round(mean(units.read for units in ranks), 2),
        "rank_read_units_most": max(units.read for units in ranks),
        "rank_round_trips_most": max(units.round_trips for units in ranks),
        "top_100_read_units": page.read,
    }


def writes(seed: int, families: str, board: str, batches: int = BATCHES) -> dict[str, Any]:
    """Write units of an event, writer to index, at batches of different members of a large board."""
    rng = Random(seed)
    client, scores = _board(MEMBERS, seed)
    meter = Meter(client)
    boards = parse_boards(families)
    # What is known of boards is read once a minute: that is not counted.
    registry = BoardCatalog(boards, DynamoBoards(client, "Scores", pacing()), pacing())  # type: ignore[arg-type]
    writer = Writer(registry, DynamoScores(meter, "Scores", "Receipts", pacing()), pacing())  # type: ignore[arg-type]
    projector = Projector(registry, DynamoRankings(meter, "Rankings", pacing()), pacing())  # type: ignore[arg-type]
    chosen = population.sample(rng, scores, BATCH * batches)
    # Their items, with the scores that they are ranked with.
    for start in range(0, len(chosen), BATCH):
        part = chosen[start : start + BATCH]
        write(writer, [event(f"before-{name}", board, name, scores[name]) for name in part])
    seen = project(projector, client, 0)
    counted = meter.snapshot()
    for start in range(0, len(chosen), BATCH):
        part = chosen[start : start + BATCH]
        write(writer, [event(f"event-{name}", board, name, rng.randint(1, 100)) for name in part])
        seen = project(projector, client, seen)
    span = meter.snapshot() - counted
    events = len(chosen)
    return {
        "events": events,
        "write_units_per_event": round(span.total.write / events, 2),
        "read_units_per_event": round(span.total.read / events, 2),
        "by_table": {table: round(units.write / events, 2) for table, units in sorted(span.tables.items())},
    }


def _board(members: int, seed: int) -> tuple[Engine, dict[str, int]]:
    client = Engine()
    create_tables(client)
    scores = population.lognormal(Random(seed), members)
    population.place_members(client, population.ranking_of(population.family()), scores)
    return client, scores


def event(event_id: str, board: str, name: str, points: int) -> str:
    """The body of an event."""
    said = {"id": event_id, "board": board, "member": name, "at": "2026-11-21T10:15:00Z", "metrics": {"points": points}}
    return orjson.dumps(said).decode()


def write(writer: Writer, bodies: list[str]) -> None:
    """Have one batch of events applied; AssertionError where one was not."""
    written = writer.write([QueueMessage(str(n), body) for n, body in enumerate(bodies)], time.monotonic() + 600)
    if written.applied != len(bodies):
        raise AssertionError(written)


def project(projector: Projector, client: Engine, seen: int, size: int = BATCH) -> int:
    """Have what is new in the stream projected in batches; how many records there were up to now."""
    (shard,) = client.stream("Scores")
    for start in range(seen, len(shard), size):
        project_batch(projector, shard[start : start + size])
    return len(shard)


def project_batch(projector: Projector, records: list[dict[str, Any]]) -> None:
    """Have one batch of the stream's records projected; AssertionError where one was not."""
    batch = [_record(record) for record in records]
    if projector.project(batch, _NoParking(), time.monotonic() + 600).failed is not None:
        raise AssertionError("a batch failed")


def _record(record: dict[str, Any]) -> Record:
    return Record(record["dynamodb"]["SequenceNumber"], decode_change(record["dynamodb"]))


class _NoParking:
    def park(self, sequence: str, reason: str, bug: Exception | None = None) -> None:
        raise AssertionError(f"{sequence}: {reason}") from bug


def table(result: dict[str, Any]) -> Iterator[str]:
    """The result as the README shows it."""
    yield "| what | members | units |"
    yield "|---|---|---|"
    for one in result["reads"]:
        yield (
            f"| a member's rank, score, percentile and the total | {one['members']:,} | "
            f"{one['rank_read_units_most']} read units at most, {one['rank_round_trips_most']} round trips |"
        )
    for one in result["reads"]:
        yield f"| the top 100 with ranks and total | {one['members']:,} | {one['top_100_read_units']} read units |"
    for name, one in result["writes"].items():
        yield f"| an event, {name} | {MEMBERS:,} | {one['write_units_per_event']} write units |"


def measure(*, small: bool) -> dict[str, Any]:
    """Everything that is in the result."""
    shipped = BOARDS_FILE.read_text(encoding="utf-8")
    batches = 1 if small else BATCHES
    return {
        "reads": [reads(size, seed=1) for size in (SIZES[:2] if small else SIZES)],
        "writes": {
            "`all` alone": writes(2, population.BOARDS, population.BOARD, batches),
            "`all`, `day` and `last-7-days`": writes(3, shipped, population.BOARD, batches),
        },
    }


def main(arguments: list[str]) -> int:
    """Measure, keep the result and bring the README up to date."""
    out = output(arguments, __doc__)
    result = measure(small=out.small)
    out.publish("units", result, PAGE, "make units", {"units": table})
    print("\n".join(table(result)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
