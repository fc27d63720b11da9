"""A log and nodes that have taken in any part of it: entries as text, their net changes, and two readings as one."""

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from standings.domain.rolling import (
    CountChange,
    Log,
    LogEntry,
    NodeDeltas,
    count_changes,
    decode_entry,
    encode_entry,
    fold_deltas,
    joined,
    node_deltas,
)
from standings.domain.tiers import deltas
from tests.support.builders.rolling.random_items import random_steps
from tests.support.thoroughness import seeds

PERIODS = range(90, 200)


def random_entry(rng: Random) -> LogEntry:
    moves = [(random_steps(rng, 100), random_steps(rng, 100)) for _ in range(rng.randint(1, 4))]
    changes = [change for before, after in moves for change in count_changes(before, after)]
    return LogEntry(rng.randrange(10**13), rng.sample(changes, len(changes)))


def by_brute_force(entries: Sequence[LogEntry], periods: range) -> NodeDeltas:
    """The changes of counters, period by period and change by change."""
    net: dict[tuple[int, tuple[int, ...]], Counter[int]] = {}
    for entry in entries:
        for first, until, old, new in entry.changes:
            for period in periods:
                if first <= period < until:
                    for path, counters in deltas([(old, new)]).items():
                        net.setdefault((period, path), Counter()).update(counters)
    clean = {node: {digit: count for digit, count in counters.items() if count} for node, counters in net.items()}
    return {node: counters for node, counters in clean.items() if counters}


@pytest.mark.parametrize("seed", range(20))
def test_an_entry_comes_back_from_its_text(seed: int) -> None:
    entry = random_entry(Random(seed))

    assert decode_entry(encode_entry(entry)) == entry


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (LogEntry(0, []), "[0]"),
        # One activity is a short entry.
        (LogEntry(1_795_256_100_000, [CountChange(20_778, 20_785, None, -150)]), "[1795256100000,20778,7,null,-150]"),
        (LogEntry(9, [CountChange(4, 6, 1, 3), CountChange(6, 7, 2, None)]), "[9,4,2,1,2,0,1,2,null]"),
        (LogEntry(0, [CountChange(7, 9, 0, 2**53), CountChange(3, 4, 1, -1)]), f"[0,7,2,0,{2**53},-6,1,1,-2]"),
        (
            LogEntry(0, [CountChange(0, 90, None, -(2**53)), CountChange(90, 91, 5, None)]),
            f"[0,0,90,null,{-(2**53)},0,1,5,null]",
        ),
    ],
)
def test_an_entry_is_json_of_the_differences(entry: LogEntry, text: str) -> None:
    assert encode_entry(entry) == text
    assert decode_entry(text) == entry


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "5", "null", "[]", '"text"', "{}", "[null]", "[1.5]", "[true]"),
        *("[1,2]", "[1,2,3,4]", "[1,2,3,4,5,6]", "[1,null,3,4,5]", "[1,2,null,4,5]", "[1,2,3.5,4,5]"),
        *('[1,2,3,"x","y"]', "[1,2,3,4.5,5]", "[1,2,3,4,5.5]", "[1,2,3,null,false]", "[1,2,3,[4],null]"),
        *("[1,2,-3,4,5]", "[1,2,0,4,5]"),
    ],
)
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_entry(text)


@pytest.mark.parametrize("seed", seeds(20, 40))
def test_net_changes_are_those_of_every_period_and_change(seed: int) -> None:
    rng = Random(seed)
    entries = [random_entry(rng) for _ in range(rng.randrange(6))]
    start = rng.choice([90, 100, 105, 120])
    periods = range(start, rng.choice([start, start + 1, 110, 200]))

    assert node_deltas(entries, periods) == by_brute_force(entries, periods)


@pytest.mark.parametrize("seed", seeds(20, 40))
def test_a_fold_brings_every_node_that_any_part_of_the_entries_changes(seed: int) -> None:
    rng = Random(seed)
    entries = [random_entry(rng) for _ in range(rng.randrange(8))]
    # Some entries are taken back.
    entries += [
        LogEntry(1, [CountChange(first, until, new, old) for first, until, old, new in entry.changes])
        for entry in rng.sample(entries, len(entries) // 2)
    ]
    folded = fold_deltas(entries, PERIODS)

    assert {node: counters for node, counters in folded.items() if counters} == node_deltas(entries, PERIODS)
    for start in range(len(entries) + 1):
        for stop in range(start, len(entries) + 1):
            assert node_deltas(entries[start:stop], PERIODS).keys() <= folded.keys()


def test_entries_since_a_position() -> None:
    entries = tuple(LogEntry(n, []) for n in range(3))
    log = Log(10, entries)

    assert log.end == 13
    assert log.since(11) == entries[1:]
    assert log.since(13) == log.since(20) == ()
    # A node that is behind the log's beginning has nothing to take from what was cut.
    assert log.since(10) == log.since(4) == entries


@pytest.mark.parametrize("base", range(5))
def test_two_readings_are_one_if_nothing_between_them_is_missing(base: int) -> None:
    every = tuple(LogEntry(n, []) for n in range(6))
    earlier, later = {0: Log(0, every[:3])}, {0: Log(base, every[base:])}

    assert joined(earlier, later) == ({0: Log(0, every)} if base <= 3 else None)
    assert joined({}, later) is None
