"""A rolling window whose members move while it is read, and what its counts may be."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import product
from typing import Any, Final

from standings.aws.dynamodb.rankings import log_folds, rolling_windows
from standings.aws.dynamodb.rankings.rolling_windows import DynamoRollingWindows
from standings.domain.boards.definitions import Ranking
from standings.domain.rolling.count_log import Entry
from standings.domain.rolling.rolling_rankings import RollingRankings
from standings.domain.rolling.steps import Step, Steps, count_changes
from standings.domain.scoring.sort_order import Place
from standings.domain.tiers.tier_path import Path
from standings.domain.tiers.tier_tree import deltas, nodes_for
from standings.ports.rolling import RollingRow, RowChange
from standings.runtime.retry import Clock
from tests.support.builders.points import NOW
from tests.support.builders.rolling.random_items import rolling_window
from tests.support.faults.faulty_client import Time

SORT_VALUES: Final = (-130, -150, -250, -400, -30_000)
"""The first three are in one leaf of the tier tree."""
PATHS: Final = tuple(dict.fromkeys(path for value in SORT_VALUES for path in nodes_for(value)))
ALL_NODES: Final = 10**9

Counts = dict[Path, dict[int, int]]


class DiedError(Exception):
    """A fold died."""


class MovingWindow:
    """One period of a window, and all that was done to it: the moves of each log, in order."""

    def __init__(self, engine: Any, members: int = 12) -> None:
        self.engine = engine
        self.clock: Clock = Time(NOW).clock()
        self.rankings: RollingRankings = rolling_window("last-7-days")
        self.period = self.rankings.metric.timetable.index("d", NOW)
        self.windows = DynamoRollingWindows(engine, "Rankings", self.clock)
        self.at: dict[str, int] = {}
        self.moves: list[list[tuple[str, int | None, int]]] = [[]]
        self.versions = 0
        for number in range(members):
            self.move(f"m{number}", SORT_VALUES[number % len(SORT_VALUES)])

    @property
    def ranking(self) -> Ranking:
        return self.rankings.at(self.period)

    def move(self, member: str, sort_value: int, log: int = 0) -> None:
        """Move a member, with an entry in a log that there is."""
        self.versions += 1
        step = Step(self.period, self.period + 7, Place(sort_value))
        row = RollingRow(self.versions, Steps(self.period, (step,)))
        self.windows._log(self.rankings).number = log
        seen = self.windows.rows(self.rankings, [member]).get(member)
        assert not isinstance(seen, str)
        before = seen.steps if seen is not None else None
        entry = Entry(NOW, list(count_changes(before, row.steps)))
        change = RowChange(member, row, NOW, seen.version if seen is not None else None)
        assert self.windows.commit(self.rankings, [change], entry) == []
        self.moves[log].append((member, self.at.get(member), sort_value))
        self.at[member] = sort_value

    def new_log(self) -> int:
        """Make and name another log, as a process does that has conflicts. Returns its number."""
        log = self.windows._log(self.rankings)
        count = len(self.moves)
        self.windows._most = count + 1
        log.of = count
        log.conflicts = rolling_windows.CONFLICTS
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
            log_folds.fold_log(self.engine, "Rankings", self.clock, run, self.rankings, log)

    def lengths(self) -> list[int]:
        """How many entries each log ever had."""
        return [len(moves) for moves in self.moves]

    def counts(self, lengths: Iterable[int]) -> Counts:
        """The counters, if just so many entries of each log are counted."""
        moves = [
            (old, new) for moves, length in zip(self.moves, lengths, strict=True) for _, old, new in moves[:length]
        ]
        return {path: without_zeros(counters) for path, counters in deltas(moves).items()}

    def moments(self, since: Sequence[int]) -> Iterator[Counts]:
        """The counters at any moment of each log from one moment on. Logs that were made since had no entries then."""
        lengths = self.lengths()
        begun = [*since, *[0] * (len(lengths) - len(since))]
        for several in product(*(range(first, last + 1) for first, last in zip(begun, lengths, strict=True))):
            yield self.counts(several)


def without_zeros(counters: dict[int, int]) -> dict[int, int]:
    """The counters as a reader sees them: sums below 0 are of different moments, and count as 0."""
    return {digit: count for digit, count in counters.items() if count > 0}


def members_counted(counts: Counts) -> Counter[Path]:
    """The sum of the counters of each node."""
    return Counter({path: sum(counters.values()) for path, counters in counts.items()})
