"""Counts of a rolling window are of one moment of each log, although logs are folded and cut while they are read.

The reader reads logs and then nodes. The items of a batch are read one by one, and anything happens between them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import product
from random import Random
from typing import Any, Final
from unittest import mock

import pytest

from standings.aws.dynamodb.tables import MAX_KEYS
from standings.domain.boards import Ranking
from standings.domain.scoring import Place as Score
from standings.domain.tiers import ROOT, Path, deltas, nodes_for
from standings.rankings import reading as rankings_reading
from standings.rankings.reading import RankingReads
from standings.rankings.rolling import steps as rolling
from standings.rankings.rolling import storing
from standings.rankings.rolling.reading import TRIES
from standings.rankings.rolling.steps import LogEntry, RollingRow, Shift, Step, Steps, count_changes, node_deltas
from standings.rankings.rolling.storing import RollingStorage, RowWrite
from standings.runtime.clock import Clock
from standings.stores import Partition, Span
from tests.support.aws.stack import OneThread
from tests.support.builders.points import NOW, family
from tests.support.builders.rolling.random_items import rolling_window
from tests.support.faults.faulty_client import ItemByItem, Place, Time
from tests.support.thoroughness import seeds

SORT_VALUES: Final = (-130, -150, -250, -400, -30_000)
"""The first three are in one leaf of the tier tree."""
PATHS: Final = tuple(dict.fromkeys(path for value in SORT_VALUES for path in nodes_for((value,))))
MOST_BATCHES: Final = 2 + 2 * TRIES
"""The batches of a reader that gave up: logs and nodes, and both again for each try."""

Counts = dict[Path, dict[int, int]]


class DiedError(Exception):
    """A fold died."""


class MovingWindow:
    """One period of a window, and all that was done to it: the moves of each log, in order."""

    def __init__(self, engine: Any, members: int = 12) -> None:
        self.engine = engine
        self.clock: Clock = Time(NOW).clock()
        self.rankings = rolling_window("last-7-days")
        self.period = self.rankings.metric.timetable.index("d", NOW)
        self.windows = RollingStorage(engine, "Rankings", self.clock)
        self.at: dict[str, int] = {}
        self.moves: list[list[tuple[tuple[int] | None, tuple[int]]]] = [[]]
        self.versions = 0
        for number in range(members):
            self.move(f"m{number}", SORT_VALUES[number % len(SORT_VALUES)])

    @property
    def ranking(self) -> Ranking:
        return self.rankings.at(self.period)

    def move(self, member: str, sort_value: int, log: int = 0) -> None:
        """Move a member, with an entry in a log that there is."""
        self.versions += 1
        row = RollingRow(self.versions, Steps(self.period, (Step(self.period, self.period + 7, Score((sort_value,))),)))
        self.windows._log(self.rankings).number = log
        seen = self.windows.rows(self.rankings, [member]).get(member)
        assert not isinstance(seen, str)
        entry = LogEntry(NOW, list(count_changes(seen.steps if seen is not None else None, row.steps)))
        shift = Shift(self.rankings, member, (), row.steps, row.version, NOW)
        change = RowWrite(shift, row.steps, seen.version if seen is not None else None)
        assert self.windows.append(self.rankings, [change], entry) == []
        before = self.at.get(member)
        self.moves[log].append((None if before is None else (before,), (sort_value,)))
        self.at[member] = sort_value

    def away(self, member: str, log: int = 0) -> None:
        """Move a member to another place, wherever it is."""
        self.move(member, [value for value in SORT_VALUES if value != self.at[member]][-1], log)

    def new_log(self) -> int:
        """Make and name another log, as a process does that has conflicts. Returns its number."""
        log = self.windows._log(self.rankings)
        log.of = count = len(self.moves)
        self.windows._most = count + 1
        log.conflicts = storing.CONFLICTS
        self.windows._change_log(self.rankings, log)
        self.moves.append([])
        return count

    def fold(self, log: int = 0, nodes: int | None = None) -> None:
        """Fold a log. With `nodes`, the fold dies when it has brought so many of them (or all), before it cuts."""

        def run(jobs: Sequence[Callable[[], None]]) -> Iterator[None]:
            for job in jobs[:nodes]:
                yield job()
            if nodes is not None:
                raise DiedError

        with suppress(DiedError):
            storing.fold_log(self.engine, "Rankings", self.clock, run, self.rankings, log)

    def lengths(self) -> list[int]:
        """How many entries each log ever had."""
        return [len(moves) for moves in self.moves]

    def counts(self, lengths: Iterable[int]) -> Counts:
        """The counters, if just so many entries of each log are counted."""
        moves = [move for moves, length in zip(self.moves, lengths, strict=True) for move in moves[:length]]
        return positive(deltas(moves))

    def moments(self, since: Sequence[int]) -> list[Counts]:
        """The counters at any moment of each log from one moment on. Logs that were made since had no entries then."""
        lengths = self.lengths()
        begun = [*since, *[0] * (len(lengths) - len(since))]
        every = product(*(range(first, last + 1) for first, last in zip(begun, lengths, strict=True)))
        return [self.counts(several) for several in every]


def positive(counts: Mapping[Path, Mapping[int, int]]) -> Counts:
    """The counters as a reader sees them: sums below 0 are of different moments, and count as 0."""
    found = {path: {digit: n for digit, n in counters.items() if n > 0} for path, counters in counts.items()}
    return {path: counters for path, counters in found.items() if counters}


class Reading:
    """A window and the function that reads it. `before` is called before each item is read."""

    def __init__(self, window: MovingWindow, before: Callable[[Place], Any] = lambda _: None) -> None:
        self.window = window
        self.before = before
        self.client = ItemByItem(window.engine)
        self.reader = RankingReads(self.client, "Rankings", window.clock)  # type: ignore[arg-type]

    def counts(self) -> Counts:
        """The counters of all nodes as a new request reads them."""
        self.client.batches.clear()
        self.client.before = self.before
        nodes = self.reader.for_request().nodes([(self.window.ranking, path) for path in PATHS])
        self.client.before = lambda _: None
        return positive({path: node.counters for (_, path), node in nodes.items()})

    def check(self) -> None:
        """Read all nodes: they are of one moment of each log, between the beginning and the end of the reading.

        If the reader gave up, each node by itself is.
        """
        since = self.window.lengths()
        read = self.counts()
        moments = self.window.moments(since)
        if len(self.client.batches) < MOST_BATCHES:
            assert read in moments
        for path in PATHS:
            assert read.get(path) in [moment.get(path) for moment in moments]


Act = Callable[[MovingWindow], Any]


def acting(window: MovingWindow, acts: Mapping[Place, Act]) -> Callable[[Place], Any]:
    """Act before some items are read, which are named by batch and item."""
    return lambda place: acts[place](window) if place in acts else None


def nothing(_: MovingWindow) -> None:
    """Let nothing happen."""


def move_and_fold(window: MovingWindow, member: str = "m0", nodes: int | None = None) -> None:
    window.away(member)
    window.fold(nodes=nodes)


def move_in_a_new_log(window: MovingWindow) -> None:
    window.away("m0", window.new_log())


def move_in_a_new_log_and_fold(window: MovingWindow) -> None:
    move_in_a_new_log(window)
    window.fold(1)


SCHEDULES: Final[dict[str, tuple[int, Mapping[Place, Act], Act]]] = {
    "nothing": (2, {}, nothing),
    "a fold of known entries": (2, {(1, 2): MovingWindow.fold}, nothing),
    "a move and a fold among nodes": (4, {(1, 1): move_and_fold}, nothing),
    # The log still has what the nodes lack, so they are not read again.
    "a fold that dies halfway": (3, {(1, 0): partial(move_and_fold, nodes=2)}, MovingWindow.fold),
    # The number of logs is read before the new log.
    "a new log": (5, {(1, 1): move_in_a_new_log_and_fold}, nothing),
    "entries in another log": (3, {}, move_in_a_new_log),
}
"""The batches that a schedule takes, what happens before items are read, and what happened before."""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_counts_are_of_one_moment_of_each_log(engine: Any, schedule: str) -> None:
    batches, acts, first = SCHEDULES[schedule]
    window = MovingWindow(engine)
    first(window)
    reading = Reading(window, acting(window, acts))
    reading.check()

    assert len(reading.client.batches) == batches
    reading.before = lambda _: None
    reading.check()


@pytest.mark.parametrize("logs", [1, 2, 3])
@pytest.mark.parametrize("seed", seeds(10, 200))
def test_counts_are_of_one_moment_whatever_happens(engine: Any, seed: int, logs: int) -> None:
    print(f"seed {seed}")
    rng = Random(seed)
    window = MovingWindow(engine)
    likely = rng.choice([0.03, 0.1, 0.3])

    def one_thing() -> None:
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
        for _number in range(rng.choice([1, 1, 2, 4]) if rng.random() < likely else 0):
            one_thing()

    for _ in range(4):
        Reading(window, before).check()


def test_a_reader_gives_up_after_three_tries_and_each_node_is_of_one_moment(engine: Any) -> None:
    window = MovingWindow(engine)
    always = {(batch, 1): partial(move_and_fold, member=f"m{batch}") for batch in range(1, 30, 2)}
    reading = Reading(window, acting(window, always))
    reading.check()

    assert len(reading.client.batches) == MOST_BATCHES
    # Nothing of it is kept for the next request.
    reading.before = lambda _: None
    reading.check()


def test_a_request_that_has_read_logs_sees_nodes_that_were_folded_since(engine: Any) -> None:
    window = MovingWindow(engine)
    reads = Reading(window).reader.for_request()
    entries = reads.entries([(window.ranking, "m0"), (window.ranking, "nobody")])
    assert [entry.place.values[0] for entry in entries.values()] == [SORT_VALUES[0]]
    for member in ("m1", "m2", "m3"):
        since = window.lengths()
        move_and_fold(window, member)
        # A walk down the tree reads node by node.
        nodes = {path: reads.nodes([(window.ranking, path)]) for path in PATHS}
        counted = positive({path: next(iter(found.values())).counters for path, found in nodes.items()})
        assert counted[ROOT] in [moment[ROOT] for moment in window.moments(since)]
        assert counted == window.counts(window.lengths())


def test_what_nodes_lack_is_worked_out_once_for_all_of_a_period(engine: Any) -> None:
    window = MovingWindow(engine)
    window.fold()
    window.move("m0", SORT_VALUES[-1])
    with mock.patch.object(rolling, "node_deltas", wraps=node_deltas) as worked_out:
        Reading(window).check()

    # All nodes are at the beginning of the log.
    assert worked_out.call_count == 1


def test_nodes_of_several_windows_are_caught_up_each_by_itself(engine: Any) -> None:
    window, other = MovingWindow(engine), MovingWindow(engine, members=0)
    other.rankings = other.rankings._replace(board="c")
    other.move("m0", -130)
    client = ItemByItem(engine, acting(window, {(1, 1): move_and_fold}))
    reader = RankingReads(client, "Rankings", window.clock).for_request()  # type: ignore[arg-type]
    since = window.lengths()
    nodes = reader.nodes([(each.ranking, path) for each in (window, other) for path in PATHS])

    read = positive({path: node.counters for (of, path), node in nodes.items() if of == window.ranking})
    assert read in window.moments(since)
    assert sum(nodes[other.ranking, ROOT].counters.values()) == 1
    # Only the logs and the nodes of the window that was folded are read again.
    assert {key.split("#")[0] for batch in client.batches[2:] for key in batch} == {"b"}


class BusyThread(OneThread):
    """In place of a pool with one thread. A call must not give another one."""

    def __init__(self, **_: Any) -> None:
        self._busy = False

    def submit(self, call: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        assert not self._busy, "a call on the pool waits for another one"
        self._busy = True
        done = super().submit(call, *args, **named)
        self._busy = False
        return done


def test_batches_of_nodes_beside_spans_do_not_wait_on_the_pool(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rankings_reading, "ThreadPoolExecutor", BusyThread)
    reader = RankingReads(engine, "Rankings", Time(0).clock())
    metric = family("b").metrics["points"]
    ranking = Ranking("b", metric, metric.windows[0], 0)
    spans = [Span(Partition(ranking.key, shard), None, 10) for shard in (0, 1)]

    assert reader.spans(ranking, spans, [(60, digit) for digit in range(MAX_KEYS + 1)]) == ([[], []], {})
    assert reader.spans(ranking, spans, []) == ([[], []], {})
