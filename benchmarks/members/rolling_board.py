"""A large board with a rolling window, of which everything is loaded that some questions read."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from benchmarks.harness import population
from benchmarks.harness.pipeline import still_clock
from benchmarks.harness.questions import Board, Questions
from benchmarks.harness.truth import MemberTruth, number_of
from benchmarks.members.histories import LIVES
from benchmarks.members.loader import Loader
from standings.domain.boards_toml import parse_boards
from standings.domain.rolling import CountChange, LogEntry, encode_entry
from standings.domain.windows import DAY
from standings.project.commits import ROOM
from standings.read.member_ranks import MAX_MEMBERS

NOON: Final = population.NOW // DAY * DAY + DAY // 2
ENDED: Final = -5
"""The period that ended so many days before today."""
OFFSETS: Final = (ENDED, -1, 0, 1)
SAMPLE: Final = 50
AROUND: Final = 10
"""The members whose neighbours are read: the first of the sample that are in the period."""
BEYOND: Final = 3_000
"""Positions that a page of 100 may span, with what is read beyond it in the shortest of its lists."""
BESIDE: Final = 400
"""The same, of a page around a member."""


class RollingBoard:
    """A board with a rolling window, of which everything is loaded that the questions read."""

    def __init__(self, definition: str, window: str, life: str, count: int, offsets: Collection[int] = OFFSETS) -> None:
        self._now = NOON
        self.window = window
        metric = population.family(definition).metrics["points"]
        rng, days = Random(count), next(one.size for one in metric.windows if one.name == window)
        histories = LIVES[life](rng, count, days)
        periods = histories.scores(days, range(min(offsets), max(offsets) + 1))
        self.truths = {offset: MemberTruth(scores) for offset, scores in periods if offset in offsets}
        now, then = (self.truths[offset].by_number for offset in (0, 1))
        lasting = [number for number in range(count) if now[number] and then[number]]
        self.members = list(map(population.member, rng.sample(lasting, SAMPLE + MAX_MEMBERS)))
        self.board = Board(parse_boards(definition), clock=replace(still_clock(), now=lambda: self._now))
        chosen = self._near()
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

    def _near(self) -> set[int]:
        """The members whose list items lie where the questions read, and the members that are asked for."""
        near = {number_of(name) for name in self.members}
        for truth in self.truths.values():
            middle = truth.total // 2
            near.update(truth.numbers(1, BEYOND), truth.numbers(middle - BEYOND, middle + BEYOND))
            present = [name for name in self.members if name in truth.scores]
            for number, name in enumerate(present[:SAMPLE]):
                position = truth.position(name)
                beside = BESIDE if number < AROUND else 1  # A page with `me` shows the entry before
                near.update(truth.numbers(position - beside, position + beside))
        return near


def _day(offset: int) -> str:
    """The day in which a period ends."""
    return f"2026-11-{21 + offset}"


def _log(today: int, days: int) -> Sequence[LogEntry]:
    """A log as long as a log may stay: members who moved, and moved back."""
    entries: list[LogEntry] = []
    size = 0
    rng = Random(1)
    while True:
        low = rng.randrange(1, 10_000_000)
        high = low + rng.randrange(1, 100)
        pair = [
            LogEntry(NOON, [CountChange(today, today + days, -old, -new)]) for old, new in ((low, high), (high, low))
        ]
        size += sum(len(encode_entry(entry)) for entry in pair)
        if size > ROOM:
            return entries
        entries += pair
