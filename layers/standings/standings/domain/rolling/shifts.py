"""Shifts: how changes of a member's item shift the member in a rolling window."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from standings.domain.boards.definitions import Boards, Family
from standings.domain.members.member_item import Image
from standings.domain.members.moves import Change
from standings.domain.members.open_rankings import AHEAD_MARGIN
from standings.domain.rolling.rolling_rankings import RollingRankings
from standings.domain.rolling.steps import CountChange, Steps, count_changes, counted_from, firsts_to_write, steps_of


@dataclass(slots=True)
class Shift:
    """A member's new steps in a rolling window.

    `passed` are the steps of every image in between, and of the one before, if it is known. `thorough` says that
    others may have written list items of images that are not known here, at any first period.
    """

    ranking: RollingRankings
    member: str
    passed: Sequence[Steps]
    steps: Steps
    version: int
    written_at_ms: int
    thorough: bool = False

    def count_changes(self, seen: Steps | None) -> list[CountChange]:
        """How the counts change if these steps replace those of the row that was read."""
        return list(count_changes(seen, self.stored(seen)))

    def stored(self, seen: Steps | None) -> Steps:
        """The steps to store in place of those of the row that was read."""
        return counted_from(seen, self.steps)

    def firsts(self, seen: Steps | None) -> Sequence[int]:
        """The first periods of the list items to write."""
        if not self.thorough:
            return firsts_to_write(self.steps.low, seen, self.passed, self.steps)
        timetable, window = self.ranking.metric.timetable, self.ranking.window
        newest = timetable.index(self.ranking.unit, self.written_at_ms + AHEAD_MARGIN) + window.size
        return range(self.steps.low, max(newest, *(step.first for step in self.steps.steps), 0) + 1)


def rolling_windows(family: Family, board: str) -> Iterator[RollingRankings]:
    """The rankings of every rolling window of a board."""
    for metric in family.metrics.values():
        for window in metric.windows:
            if window.rolling:
                yield RollingRankings(board, metric, window)


def shifts(boards: Boards, changes: Iterable[Change], generations: Sequence[int] = (0,)) -> list[Shift]:
    """The shifts of one member, from its first image to its last, in each generation.

    Steps that changed and changed back are a shift too: the row must get the newest version, so that a late record from
    in between is not applied.
    """
    ordered = sorted(changes, key=lambda change: change.new.version)
    last = ordered[-1].new
    family = boards.family(last.board)
    found: list[Shift] = []
    for rankings in rolling_windows(family, last.board) if family is not None else ():
        passed: list[Steps] = []
        is_shifted = False
        for change in ordered:
            old, new = (steps_of(image, rankings, last.written_at_ms) for image in change)
            is_shifted = is_shifted or old != new
            passed += (old, new)
        if is_shifted:
            found += (
                Shift(of, last.member, passed[:-1], passed[-1], last.version, last.written_at_ms)
                for generation in generations
                if (of := rankings._replace(generation=generation))
            )
    return found


def placing_shifts(family: Family, image: Image, generation: int, now: int, *, thorough: bool) -> list[Shift]:
    """The shifts that bring a member to its steps in each rolling window, wherever it is counted now."""
    return [
        Shift(
            rankings._replace(generation=generation),
            image.member,
            (),
            steps_of(image, rankings, max(now, image.written_at_ms)),
            image.version,
            image.written_at_ms,
            thorough,
        )
        for rankings in rolling_windows(family, image.board)
    ]
