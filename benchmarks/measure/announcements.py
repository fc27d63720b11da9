"""What a look at the top of a ranking costs, with and without an announcement.

`python -m benchmarks announcements` writes `benchmarks/results/announcements.json`. It compares every
announced top with a sorted list.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any, Final

import orjson

from benchmarks.harness import population
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.pipeline import event, still_clock
from benchmarks.harness.questions import Answer, Board
from benchmarks.harness.results_file import Output
from benchmarks.harness.truth import Truth
from standings.announce import AT_MOST_EVERY_MS, Announcer
from standings.aws.dynamodb.scores import BoardRecords
from standings.aws.dynamodb.versioned_items import AnnouncedTops
from standings.aws.eventbridge import EventBus
from standings.aws.sqs import Look
from standings.domain.boards_toml import parse_boards
from standings.rankings.reading import TopReads
from standings.stores import RankingName
from tests.support.aws.fakes import Bus

MEMBERS: Final = 10_000
LENGTHS: Final = (3, 10, 100)
LOOK: Final = Look(RankingName(population.BOARD, "points", "all", 0))
NOTHING: Final = "nothing has changed"
ANNOUNCED: Final = "a new leader is announced"


def rows(length: int) -> Iterator[Answer]:
    """Measure a look at a new leader's top of this length, then one at the same top. The clock moves with each look."""
    now = population.NOW
    clock = replace(still_clock(), now=lambda: now)
    boards = parse_boards(f"{population.BOARDS}\nannounce.all = {{ top = {length} }}")
    board, heard = Board(boards, clock=clock), Bus()
    scores = population.finegrained(Random(length), MEMBERS)
    population.place_members(board.client, board.ranking("all"), scores)
    board.read_record()
    meter: Any = board.pipeline.meter
    records, tops = BoardRecords(meter, "Scores", clock), AnnouncedTops(meter, "Rankings")
    bus = EventBus(lambda: heard)
    announcer = Announcer(boards, records, tops, TopReads(meter, "Rankings", clock), bus, clock, "standings")
    for member, looks in (("first", [ANNOUNCED]), ("second", [ANNOUNCED, NOTHING])):
        scores[member] = max(scores.values()) + 1
        board.pipeline.write([event(member, board.name, member, {"points": scores[member]})])
        board.pipeline.project(1)
        for what in looks:
            now += AT_MOST_EVERY_MS
            before, count = meter.snapshot().total, len(heard.events)
            again = announcer.look(LOOK)
            cost, events = meter.snapshot().total - before, heard.events[count:]
            # An announcement is followed by one more look, which is measured as a look of its own.
            if (len(events), again) != ((1, (LOOK, 1)) if what == ANNOUNCED else (0, None)):
                raise AssertionError(f"{what}: expected a proven top, got {len(events)} events and the look {again}")
            announced = [line["member"] for line in heard.events[-1]["top"]]
            if announced != Truth(scores).order[:length]:
                raise AssertionError(f"announced {announced}")
            if member == "second":
                yield {
                    "top": length,
                    "look": what,
                    "read_units": cost.read,
                    "write_units": cost.write,
                    "requests": cost.round_trips,
                    "event_bytes": sum(len(orjson.dumps(one)) for one in events),
                }


def measure(_: Output) -> Answer:
    return {"members": MEMBERS, "looks": [row for length in LENGTHS for row in rows(length)]}


BENCHMARK: Final = Benchmark("announcements", measure, {})
