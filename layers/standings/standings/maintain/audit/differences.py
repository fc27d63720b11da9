"""Where Rankings and Scores differ: what each difference is called, and when a row that looks wrong is only late."""

from enum import StrEnum
from typing import NamedTuple

from standings.domain.boards.ranking import Ranking
from standings.domain.members.member_item import Image
from standings.domain.members.rolling_sum import place
from standings.domain.scoring.sort_order import sort_key


class Kind(StrEnum):
    """What an audit finds. The last two are no differences: what the stream has yet to bring, and what never rests."""

    MISSING = "missing"  # Scores rank a member that has no entry
    WRONG = "wrong"  # an entry at another place than Scores say
    MISPLACED = "misplaced"  # an entry at its place, in a partition of the index that is not its own
    PHANTOM = "phantom"  # an entry of a member that Scores do not rank there
    VERSION = "version"  # a row of a version that the member's item never had: it turns true moves away
    COUNTER = "counter"  # a tier's counter that is not the number of entries below it
    BEHIND = "behind"
    UNSETTLED = "unsettled"


NO_DIFFERENCE = frozenset({Kind.BEHIND, Kind.UNSETTLED})


class StoredRow(NamedTuple):
    """A member's row in a ranking as it lies in the store.

    `key` is what its entry is sorted by (None: no entry), `at_home` whether that is in a shard where it may be.
    """

    key: str | None
    version: int
    at_home: bool = True


def expected_key(image: Image | None, ranking: Ranking, member: str) -> str | None:
    """What a member's entry is sorted by, told from its item; None where it is not ranked."""
    there = place(image, ranking)
    return None if there is None else sort_key(there, member)


def difference(
    image: Image | None, row: StoredRow | None, ranking: Ranking, member: str, now: int, grace: int
) -> Kind | None:
    """What is wrong with a row beside its item, both of one moment; None where they agree.

    A row older than its item may wait for the stream, but not longer than `grace` milliseconds after the item's last
    change. An item that is gone says nothing of when it went: what it leaves is a phantom at once.
    """
    expected = expected_key(image, ranking, member)
    found = row.key if row is not None else None
    if image is not None and row is not None and row.version > image.version:
        return Kind.VERSION
    if found == expected:
        return Kind.MISPLACED if row is not None and expected is not None and not row.at_home else None
    if image is not None and (row is None or row.version < image.version) and now - image.written_at_ms < grace:
        return Kind.BEHIND
    if expected is None:
        return Kind.PHANTOM
    return Kind.MISSING if found is None else Kind.WRONG
