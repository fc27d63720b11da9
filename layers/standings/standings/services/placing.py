"""Places a member as its item is now: what a rebuild does for everyone, and a replay for whom a record names."""

from collections.abc import Iterable
from typing import Final

from standings.domain.boards import Ranking
from standings.domain.members import Image, place
from standings.domain.moves import Move

REPLAYABLE_DAYS: Final = 29
"""What was first received longer ago is not replayed: receipts, and the versions of removed members, outlive it."""


def placings(image: Image, rankings: Iterable[Ranking]) -> list[Move]:
    """The moves that bring a member to its place in each ranking, also to none.

    None is believed to be counted: where a row says otherwise, its move heals by that.
    """
    return [
        Move(ranking, image.member, None, place(image, ranking), image.version, image.stamp) for ranking in rankings
    ]
