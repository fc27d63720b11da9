"""Counts of a rolling window are of one moment of each log, although logs are folded and cut while they are read.

The reader reads logs and then nodes. The items of a batch are read one by one, and anything happens between them.
"""

from random import Random
from typing import Any, Final
from unittest import mock

import pytest

from standings.aws.dynamodb.rankings import rolling_reads
from standings.aws.dynamodb.rankings.ranking_reads import DynamoRankingsReader
from standings.aws.dynamodb.rankings.rolling_reads import TRIES
from standings.domain.rolling.count_log import node_deltas
from standings.domain.tiers.tier_path import ROOT
from tests.support.builders.rolling.moving_window import (
    PATHS,
    SORT_VALUES,
    MovingWindow,
    members_counted,
    without_zeros,
)
from tests.support.builders.rolling.reading import SCHEDULES, Reading, Schedule, acts, moved_and_folded, whole
from tests.support.faults.item_by_item import ItemByItem, Place
from tests.support.thoroughness import seeds

MOST_BATCHES: Final = 2 + 2 * TRIES
"""The batches of a reader that gave up: logs and nodes, and both again for each try."""


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: schedule.__name__)
def test_counts_are_of_one_moment_of_each_log(engine: Any, schedule: Schedule) -> None:
    window = MovingWindow(engine)
    reading = Reading(window, acts(schedule(window)))
    reading.check()

    assert len(reading.client.batches) == SCHEDULES[schedule]
    reading.before = acts({})
    reading.check()


@pytest.mark.parametrize("logs", [1, 2, 3])
@pytest.mark.parametrize("seed", seeds(25, 200))
def test_counts_are_of_one_moment_whatever_happens(engine: Any, seed: int, logs: int) -> None:
    print(f"seed {seed}")
    rng = Random(seed)
    window = MovingWindow(engine)
    likely = rng.choice([0.03, 0.1, 0.3])

    def something() -> None:
        for _ in range(rng.choice([1, 1, 2, 4])):
            log = rng.randrange(len(window.moves))
            what = rng.choice(["move", "move", "fold", "fold", "half a fold", "new log"])
            if what == "move":
                member = rng.choice(sorted(window.at))
                window.move(member, rng.choice([value for value in SORT_VALUES if value != window.at[member]]), log)
            elif what == "new log" and len(window.moves) < logs:
                window.new_log()
            else:
                window.fold(log, rng.randrange(12) if what == "half a fold" else None)

    def before(_: Place) -> None:
        if rng.random() < likely:
            something()

    for _ in range(4):
        reading = Reading(window, before)
        since = window.lengths()
        read = reading.counts()
        moments = [whole(moment) for moment in window.moments(since)]
        if len(reading.client.batches) < MOST_BATCHES:
            assert read in moments
        for path in PATHS:
            assert read.get(path) in [moment.get(path) for moment in moments]


def test_a_reader_gives_up_after_three_tries_and_each_node_is_of_one_moment(engine: Any) -> None:
    window = MovingWindow(engine)
    reading = Reading(window, acts({(batch, 1): moved_and_folded(window, f"m{batch}") for batch in range(1, 30, 2)}))
    reading.check_each()

    assert len(reading.client.batches) == MOST_BATCHES
    # Nothing of it is kept for the next request.
    reading.before = acts({})
    reading.check()


def test_nobody_is_counted_twice_or_left_out(engine: Any) -> None:
    window = MovingWindow(engine, members=0)
    for number in range(30):
        window.move(f"m{number}", SORT_VALUES[number % 3])
    reading = Reading(window)

    def move_within_the_leaf() -> None:
        member = f"m{window.versions % 30}"
        window.move(member, SORT_VALUES[(SORT_VALUES.index(window.at[member]) + 1) % 3])
        window.fold()

    for rounds in range(1, 6):
        reading.before = acts({(batch, 1): move_within_the_leaf for batch in range(1, 2 * rounds, 2)})
        assert set(members_counted(reading.counts()).values()) == {30}


def test_a_request_that_has_read_logs_sees_nodes_that_were_folded_since(engine: Any) -> None:
    window = MovingWindow(engine)
    reading = Reading(window)
    reads = reading.reader.for_request()
    entries = reads.entries([(window.ranking, "m0"), (window.ranking, "nobody")])
    assert [entry.place.sort_value for entry in entries.values()] == [SORT_VALUES[0]]
    for member in ("m1", "m2", "m3"):
        since = window.lengths()
        moved_and_folded(window, member)()
        counted = {}
        # A walk down the tree reads node by node.
        for path in PATHS:
            node = reads.nodes([(window.ranking, path)])
            counted[path] = without_zeros(dict(next(iter(node.values())).counters))
        assert counted[ROOT] in [moment[ROOT] for moment in window.moments(since)]
        assert whole(counted) == whole(window.counts(window.lengths()))


def test_each_request_reads_the_logs_anew_and_so_does_a_call_outside_requests(engine: Any) -> None:
    window = MovingWindow(engine, members=0)
    reader = DynamoRankingsReader(engine, "Rankings", "Scores", window.clock)
    for number in range(1, 4):
        window.move(f"m{number}", SORT_VALUES[number])
        for reads in (reader, reader.for_request()):
            assert sum(reads.nodes([(window.ranking, ROOT)])[window.ranking, ROOT].counters.values()) == number


def test_what_nodes_lack_is_worked_out_once_for_all_of_a_period(engine: Any) -> None:
    window = MovingWindow(engine)
    window.fold()
    window.move("m0", SORT_VALUES[-1])
    with mock.patch.object(rolling_reads, "node_deltas", wraps=node_deltas) as worked_out:
        Reading(window).check()

    # All nodes are at the beginning of the log.
    assert worked_out.call_count == 1


def test_nodes_of_several_windows_are_caught_up_each_by_itself(engine: Any) -> None:
    window, other = MovingWindow(engine), MovingWindow(engine, members=0)
    other.rankings = other.rankings._replace(board="c")
    other.move("m0", -130)
    client = ItemByItem(engine, lambda place: moved_and_folded(window)() if place == (1, 1) else None)
    reader = DynamoRankingsReader(client, "Rankings", "Scores", window.clock).for_request()  # type: ignore[arg-type]
    since = window.lengths()
    nodes = reader.nodes([(each.ranking, path) for each in (window, other) for path in PATHS])
    read = {path: without_zeros(dict(node.counters)) for (of, path), node in nodes.items() if of == window.ranking}

    assert whole(read) in map(whole, window.moments(since))
    assert sum(nodes[other.ranking, ROOT].counters.values()) == 1
    # Only the logs and the nodes of the window that was folded are read again.
    assert {key.split("#")[0] for batch in client.batches[2:] for key in batch} == {"b"}
