"""Projectors side by side on one board, with lanes and without, and the cost of a rank on a board with lanes.

`make lanes` writes `benchmarks/results/lanes.json` and a table of `docs/performance-tables.md`. The
projectors are the product's; they run in virtual time, over a client whose transactions take time and conflict. Each
projector is a greenlet: to wait it switches to the clock, which then runs the one that is next.
"""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from random import Random
from typing import Any, Final

from botocore.exceptions import ClientError
from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]

from benchmarks.harness import population
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.pipeline import refuse_to_park
from benchmarks.harness.questions import Board, Questions
from benchmarks.harness.results_file import Output
from benchmarks.harness.truth import Truth
from benchmarks.models import assumed
from benchmarks.pages.tables import Result, Row, Table
from standings.aws.dynamodb.scores import BoardRecords
from standings.catalog import BoardCatalog
from standings.domain.members import Change, Image
from standings.project.projector import Projector, ProjectResult, Record
from standings.rankings.calendar.pruning import Pruning
from standings.rankings.calendar.storing import MAX_LANES
from standings.rankings.storing import Rankings
from standings.runtime.clock import Clock
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

PROJECTORS: Final = (1, 2, 4, 8, 16)
MEMBERS: Final = 16_000
BATCH: Final = 100
SECONDS: Final = 5.0
"""Virtual seconds after which a projector begins no more batches."""
READ_MEMBERS: Final = 10_000
"""Members of the board on which ranks are read."""


class Run:
    """Runs projectors on one board; each has members of its own, like the shards of a stream.

    `in_time` counts the moves of batches that ended within the seconds.
    """

    def __init__(
        self, projectors: int, most_lanes: int, batch: int, pause: float, seconds: float, seed: int = 1
    ) -> None:
        self.rng = Random(seed)
        self.seconds = seconds
        self.engine = Engine()
        create_tables(self.engine)
        self.clock = VirtualClock()
        self.client = Meeting(self.engine, self.clock)
        self.boards = population.boards()
        self.ranking = population.ranking_of(population.family())
        self.scores = population.lognormal(self.rng, MEMBERS)
        self.versions = dict.fromkeys(self.scores, 1)
        population.place_members(self.engine, self.ranking, self.scores)
        self.projected: list[ProjectResult] = []
        self.in_time = 0
        names = list(self.scores)
        for number in range(projectors):
            rng, now = Random(f"{seed} {number}"), lambda: population.NOW + int(self.clock.now * 1000)
            tools = Clock(now, lambda: self.clock.now, self.clock.sleep, rng.random)
            catalog = BoardCatalog(self.boards, BoardRecords(self.engine, "Scores", tools), tools)  # type: ignore[arg-type]
            client: Any = self.client
            pruning = Pruning(client, "Rankings", tools)
            rankings = Rankings(client, "Rankings", tools, pruning=pruning, most_lanes=most_lanes)
            job = self._job(
                Projector(catalog, rankings, tools, lambda _: {}),
                names[number::projectors],
                batch,
                pause,
            )
            self.clock.start(job)
        self.clock.run()

    def _job(self, projector: Projector, members: list[str], batch: int, pause: float) -> Callable[[], None]:
        def work() -> None:
            while True:
                if pause:
                    self.clock.sleep(self.rng.expovariate(1 / pause))
                if self.clock.now >= self.seconds:
                    return
                records = [self._record(name) for name in self.rng.sample(members, batch)]
                projected = projector.project(records, refuse_to_park, float("inf"))
                if projected.failed is not None:
                    raise AssertionError(projected.why)
                self.projected.append(projected)
                self.in_time += projected.moves if self.clock.now <= self.seconds else 0

        return work

    def _record(self, name: str) -> Record:
        code = self.ranking.metric.total()
        old, version = self.scores[name], self.versions[name]
        self.scores[name] = new = old + self.rng.randint(1, 100)
        self.versions[name] = version + 1
        images = [
            Image(population.BOARD, name, number, population.NOW, 0, hidden=False, values={code: score})
            for number, score in ((version, old), (version + 1, new))
        ]
        return Record(f"{name} {version}", Change(images[0], images[1]))

    def row(self) -> dict[str, Any]:
        root = next(row for row in self.engine.scan(TableName="Rankings")["Items"] if row["pk"]["S"].endswith("/"))
        tried = self.client.committed + self.client.cancelled
        return {
            "lanes": int(root["l"]["N"]) if "l" in root else 1,
            "batches": len(self.projected),
            "cancelled_share": round(self.client.cancelled / tried, 3),
            "retries_per_batch": round(self.client.cancelled / len(self.projected), 2),
            "moves_per_second": round(sum(one.moves for one in self.projected) / self.clock.now),
        }


class VirtualClock:
    """A clock of virtual seconds that runs workers in the order of their time."""

    def __init__(self) -> None:
        self.now = 0.0
        self._order = 0
        self._waiting: list[tuple[float, int, greenlet]] = []

    def start(self, job: Callable[[], None]) -> None:
        self._at(self.now, greenlet(job))

    def sleep(self, seconds: float) -> None:
        worker = getcurrent()
        self._at(self.now + seconds, worker)
        worker.parent.switch()

    def run(self) -> None:
        while self._waiting:
            self.now, _, worker = heappop(self._waiting)
            worker.switch()

    def _at(self, when: float, worker: greenlet) -> None:
        self._order += 1
        heappush(self._waiting, (when, self._order, worker))


class Meeting:
    """A client that cancels a transaction that begins while another one has an item of it."""

    def __init__(self, client: Any, clock: VirtualClock) -> None:
        self._client = client
        self._clock = clock
        self._taken: set[str] = set()
        self.committed = 0
        self.cancelled = 0

    def transact_write_items(self, **request: Any) -> Any:
        """Commit at the end of the transaction's time, unless an item is taken at its beginning."""
        keys = [_key(action) for action in request["TransactItems"]]
        taken = [key in self._taken for key in keys]
        if any(taken):
            self._clock.sleep(assumed.TRANSACTION)
            self.cancelled += 1
            raise conflict(taken)
        self._taken.update(keys)
        self._clock.sleep(assumed.TRANSACTION)
        self._taken.difference_update(keys)
        answer = self._client.transact_write_items(**request)
        self.committed += 1
        return answer

    def batch_get_item(self, **request: Any) -> Any:
        self._clock.sleep(assumed.READ)
        return self._client.batch_get_item(**request)


def _key(entry: dict[str, Any]) -> str:
    ((_, action),) = entry.items()
    key: str = action.get("Item", action.get("Key"))["pk"]["S"]
    return key


def conflict(conflicting: list[bool]) -> ClientError:
    """Return the error of a transaction that conflicts with another one at the items marked True."""
    reasons = [{"Code": "TransactionConflict" if one else "None"} for one in conflicting]
    response: Any = {
        "Error": {"Code": "TransactionCanceledException", "Message": "conflict with another transaction"},
        "CancellationReasons": reasons,
    }
    return ClientError(response, "TransactWriteItems")


QUIET: Final = ((1, 0.0), (2, 2.0), (2, 1.0), (2, 0.2))
"""Boards that seldom get a batch, of ten members: their projectors, and the mean of the seconds between batches."""


def _rank(lanes: int) -> dict[str, Any]:
    board = Board(population.boards())
    scores = population.finegrained(Random(1), READ_MEMBERS)
    population.place_members(board.client, board.ranking("all"), scores, lanes=lanes)
    board.about("all")  # Reads the board's record, which no figure includes
    ask = Questions(board, Truth(scores), Random(1))
    first, *others = map(ask.rank, ask.sample())
    first_row = board.row("first", [first])
    row = board.row("others", others)
    return {
        "lanes": lanes,
        "read_units_most": row["read_units_most"],
        "round_trips_first": first_row["round_trips_most"],
        "round_trips_most": row["round_trips_most"],
    }


def of_busy(result: Result) -> Iterator[Row]:
    alone = {row["projectors"]: row for row in result["busy"] if row["most_lanes"] == 1}
    for row in result["busy"]:
        if row["most_lanes"] > 1:
            yield {**row, "alone": alone[row["projectors"]]}


TABLES: Final = {
    "busy": Table(
        "projectors | lanes | cancelled transactions | retries per batch | moves per second | without lanes",
        "{projectors} | {lanes} | {cancelled_share:.1%} | {retries_per_batch:g} | {moves_per_second:,} | "
        "{alone[cancelled_share]:.1%}, {alone[retries_per_batch]:g}, {alone[moves_per_second]:,}",
        of_busy,
    ),
}


def measure(out: Output) -> dict[str, Any]:
    seconds = 0.5 if out.small else SECONDS
    return {
        "seconds": seconds,
        "transaction": assumed.TRANSACTION,
        "reads": [_rank(lanes) for lanes in (1, 2, 4)],
        "quiet": [
            {"projectors": count, "pause": pause, **Run(count, MAX_LANES, 10, pause, SECONDS).row()}
            for count, pause in QUIET
        ],
        "busy": [
            {"projectors": count, "most_lanes": most, **Run(count, most, BATCH, 0.0, seconds).row()}
            for most in (1, MAX_LANES)
            for count in PROJECTORS
        ],
    }


BENCHMARK: Final = Benchmark("lanes", measure, {"docs/performance-tables.md": TABLES}, "make lanes")
