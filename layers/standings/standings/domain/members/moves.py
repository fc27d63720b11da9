"""Moves: how changes of a member's item move the member in rankings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from standings.domain.boards.definitions import Boards, Ranking
from standings.domain.members.member_item import Image
from standings.domain.members.open_rankings import affected_rankings
from standings.domain.members.rolling_sum import place
from standings.domain.scoring.sort_order import Place


class Change(NamedTuple):
    """One change of a member's item: the image before (None for a new item) and after."""

    old: Image | None
    new: Image


@dataclass(slots=True)
class Move:
    """A member's change of place in one ranking (None: no place). If the row there differs from `old`, it counts."""

    ranking: Ranking
    member: str
    old: Place | None
    new: Place | None
    version: int
    written_at_ms: int


def moves(boards: Boards, changes: Iterable[Change], generations: Sequence[int] = (0,)) -> list[Move]:
    """The moves of one member, from its first image to its last, in each generation.

    A place that changed and changed back is a move too: its row must get the newest version, so that a late record from
    in between is not applied.
    """
    ordered = sorted(changes, key=lambda change: change.new.version)
    first, last = ordered[0].old, ordered[-1].new
    family = boards.family(last.board)
    if family is None:
        return []
    # An affected ranking may keep its place: a best may not have improved, and a hidden member has no place.
    moved = {
        ranking: None
        for change in ordered
        for ranking in affected_rankings(family, change.old, change.new)
        if place(change.old, ranking) != place(change.new, ranking)
    }
    return [
        Move(
            ranking._replace(generation=generation),
            last.member,
            place(first, ranking),
            place(last, ranking),
            last.version,
            last.written_at_ms,
        )
        for generation in generations
        for ranking in moved
    ]
