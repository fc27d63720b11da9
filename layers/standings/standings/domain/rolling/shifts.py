"""Shifts: how changes of a member's item shift the member in a rolling window."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from standings.domain.boards.definitions import Boards, Family
from standings.domain.members.member_item import Image
from standings.domain.members.moves import Change
from standings.domain.members.open_rankings import AHEAD_MARGIN
from standings.domain.rolling.blocks import Block, blocks_within
from standings.domain.rolling.rolling_rankings import RollingRankings
from standings.domain.rolling.steps import CountChange, Steps, blocks_to_write, count_changes, counted_from, steps_of


@dataclass(slots=True)
class Shift:
    """A member's new steps in a rolling window.

    `passed` are the steps of every image in between, and of the one before, if it is known. `thorough` says that
    others may have written list items of images that are not known here, of any block.
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

    def blocks(self, seen: Steps | None) -> Sequence[Block]:
        """The blocks of the list items to write."""
        timetable, window = self.ranking.metric.timetable, self.ranking.window
        if not self.thorough:
            return blocks_to_write(window, self.steps.low, seen, self.passed, self.steps)
        newest = timetable.index(self.ranking.unit, self.written_at_ms + AHEAD_MARGIN) + window.size
        until = max(newest + 1, *(step.until for step in self.steps.steps), 0)
        return list(blocks_within(window, self.steps.low, until))


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
        passed = [steps_of(image, rankings, last.written_at_ms) for change in ordered for image in change]
        if any(old != new for old, new in zip(passed[::2], passed[1::2], strict=True)):
            for generation in generations:
                of = rankings._replace(generation=generation)
                found.append(Shift(of, last.member, passed[:-1], passed[-1], last.version, last.written_at_ms))
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
