"""Moves: what one batch of changes of members' items asks of the rankings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from standings.domain.boards.definitions import Boards
from standings.domain.boards.ranking import Ranking
from standings.domain.members.member_item import Image
from standings.domain.members.open_rankings import affected_rankings
from standings.domain.members.rolling_sum import place
from standings.domain.scoring.sort_order import Place


class Change(NamedTuple):
    """One change of a member's item: the image before (None for a new item) and the one after."""

    old: Image | None
    new: Image


@dataclass(slots=True)
class Move:
    """A member's change of place in one ranking: None is no place in it.

    `old` is what the images say was counted; where the ranking's own row says otherwise, that is what counts.
    """

    ranking: Ranking
    member: str
    old: Place | None
    new: Place | None
    version: int
    written_at_ms: int


def moves(boards: Boards, changes: Iterable[Change], generations: Sequence[int] = (0,)) -> list[Move]:
    """The moves that the changes of one member ask for: from its first image to its last, in each generation.

    A ranking that changed in between and came back is a move too, so that its row takes the newest version: without
    it, a record from in between, done late, would find a row that looks older than itself.
    """
    ordered = sorted(changes, key=lambda change: change.new.version)
    first, last = ordered[0].old, ordered[-1].new
    family = boards.family(last.board)
    if family is None:
        return []
    # Touched is more than moved: a best may not have improved, whoever is hidden stays out.
    moved = {
        ranking: None
        for change in ordered
        for ranking in affected_rankings(family, change.old, change.new)
        if place(change.old, ranking) != place(change.new, ranking)
    }
    return [
        Move(
            ranking._replace(generation=generation) if generation else ranking,
            last.member,
            place(first, ranking),
            place(last, ranking),
            last.version,
            last.written_at_ms,
        )
        for generation in generations
        for ranking in moved
    ]
