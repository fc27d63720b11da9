"""A large board with a rolling window, of which everything is loaded that some questions read."""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from benchmarks.harness import population
from benchmarks.harness.pipeline import still_clock
from benchmarks.harness.questions import Board, Questions
from benchmarks.harness.truth import MemberTruth, number_of
from benchmarks.members.histories import LIVES, Histories
from benchmarks.members.loader import Loader
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.rolling.count_log import Entry, encode_entry
from standings.domain.rolling.steps import CountChange
from standings.domain.windows.calendar import DAY
from standings.project.shift_members import ROOM
from standings.read.member_ranks import MAX_MEMBERS

NOON: Final = population.NOW // DAY * DAY + DAY // 2
ENDED: Final = -5
"""The period that ended so many days before today."""
OFFSETS: Final = (ENDED, -1, 0, 1)
EARLIEST: Final = -11
"""The first period of which the list may still have items."""
SAMPLE: Final = 50
BEYOND: Final = 300
"""Positions that a page and what is read beyond it may span."""
BESIDE: Final = 40
"""Positions beside a member that are read."""


class RollingBoard:
    """A board with a rolling window, of which everything is loaded that the questions read."""

    def __init__(
        self, definition: str, window: str, days: int, life: str, count: int, offsets: Collection[int] = OFFSETS
    ) -> None:
        self._now = NOON
        self.window = window
        rng = Random(count)
        histories = LIVES[life](rng, count, days)
        self._days = days
        periods = histories.scores(days, range(min(offsets), max(offsets) + 1))
        self.truths = {offset: MemberTruth(scores) for offset, scores in periods if offset in offsets}
        now, then = (self.truths[offset].by_number for offset in (0, 1))
        lasting = [number for number in range(count) if now[number] and then[number]]
        self.members = list(map(population.member, rng.sample(lasting, SAMPLE + MAX_MEMBERS)))
        self.board = Board(parse_boards(definition), clock=replace(still_clock(), now=lambda: self._now))
        metric = population.family(definition).metrics["points"]
        chosen = self._near(histories)
        loader = Loader(self.board.client, population.BOARD, metric, NOON)
        loader.load(histories, histories.of(chosen), offsets=offsets, log=_log(NOON // DAY, days))
        self.board.pipeline.catalog.register([population.BOARD])

    def at(self, now: int) -> None:
        self._now = now
        self.board.read_record()

    def ask(self, offset: int, *, named: bool = False) -> Questions:
        """Questions about a period; `named` if it is not the current one."""
        period = _day(offset) if named else None
        return Questions(self.board, self.truths[offset], Random(1), self.window, period)

    def _near(self, histories: Histories) -> set[int]:
        """The members whose list items lie where the questions read, and the members that are asked for."""
        near = {number_of(name) for name in self.members}
        bounds = sorted(self._bounds())
        flat: list[int] = []
        for low, high in bounds:
            if flat and low <= flat[-1]:
                flat[-1] = max(flat[-1], high)
            else:
                flat += (low, high)
        for _, scores in histories.scores(self._days, range(EARLIEST, self._days)):
            near.update([number for number, score in enumerate(scores) if score and bisect_left(flat, score) % 2])
        return near

    def _bounds(self) -> Iterator[tuple[int, int]]:
        """Ranges of scores that are read: above the first score, to the second."""
        for truth in filter(lambda one: one.total, self.truths.values()):
            yield truth.score_at(min(BEYOND, truth.total)) - 1, population.BOUND
            middle = truth.total // 2
            yield self._between(truth, middle - BESIDE, middle + BEYOND)
            for name in self.members[:SAMPLE]:
                if name in truth.scores:
                    yield self._between(truth, truth.position(name) - BESIDE, truth.position(name) + BESIDE)

    @staticmethod
    def _between(truth: MemberTruth, first: int, last: int) -> tuple[int, int]:
        return truth.score_at(min(last, truth.total)) - 1, truth.score_at(max(first, 1))


def _day(offset: int) -> str:
    """The day in which a period ends."""
    return f"2026-11-{21 + offset}"


def _log(today: int, days: int) -> Sequence[Entry]:
    """A log as long as a log may stay: members who moved, and moved back."""
    entries: list[Entry] = []
    size = 0
    rng = Random(1)
    while True:
        low = rng.randrange(1, 10_000_000)
        high = low + rng.randrange(1, 100)
        pair = [Entry(NOON, [CountChange(today, today + days, -old, -new)]) for old, new in ((low, high), (high, low))]
        size += sum(len(encode_entry(entry)) for entry in pair)
        if size > ROOM:
            return entries
        entries += pair
