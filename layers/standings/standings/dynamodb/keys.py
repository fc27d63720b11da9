"""Every key of the three tables, in one place.

| what                       | table    | pk                              | sk     | index `places`: r, s       |
|----------------------------|----------|---------------------------------|--------|----------------------------|
| a member's item            | Scores   | board # slot                    | member |                            |
| the list of boards         | Scores   | #boards                         | board  |                            |
| an event's receipt         | Receipts | event id                        |        |                            |
| an entry: member × ranking | Rankings | board # ranking code # member   |        | board # ranking code, place |
| a node of a tier tree      | Rankings | board # ranking code / path     |        |                            |

Names of boards hold neither `#` nor `/`, so no two of these can be the same text.
"""

from typing import Final
from zlib import crc32

from standings.domain.boards import Ranking
from standings.domain.places import FANOUT, Path

SLOTS: Final = 64
"""Partitions over which a board's members are spread, so that it can be listed by so many queries."""

BOARDS: Final = "#boards"
PLACES: Final = "places"

_COUNTER: Final = [first + second for first in "qxyz" for second in "0123456789abcdefghijklmnopqrstuv"]
_DIGIT: Final = {name: digit for digit, name in enumerate(_COUNTER)}
if len(_DIGIT) != FANOUT:
    raise AssertionError("a counter's name for every child")


def member_key(board: str, member: str) -> tuple[str, str]:
    """The partition and sort key of a member's item."""
    return f"{board}#{crc32(member.encode()) % SLOTS:02d}", member


def board_of(partition: str) -> str:
    """The board of a member's item, told from its partition key."""
    return partition.rsplit("#", 1)[0]


def entry_key(ranking: Ranking, member: str) -> str:
    """The key of a member's row in a ranking."""
    return f"{ranking.key}#{member}"


def node_key(ranking: Ranking, path: Path) -> str:
    """The key of a node: two hexadecimal digits for each step from the root."""
    return f"{ranking.key}/{bytes(path).hex()}"


def counter_name(digit: int) -> str:
    """The attribute that counts the members below a child: two characters, and no word that DynamoDB reserves."""
    return _COUNTER[digit]


def counter_digit(name: str) -> int | None:
    """The child that an attribute of a node counts; None for an attribute that is no counter."""
    return _DIGIT.get(name)
