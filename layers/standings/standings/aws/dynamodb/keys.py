"""Every key of the three tables, in one place.

| what               | table    | pk                                 | sk     | index `places`: r           | s        |
|--------------------|----------|------------------------------------|--------|-----------------------------|----------|
| a member's item    | Scores   | board # slot                       | member |                             |          |
| the list of boards | Scores   | #boards                            | board  |                             |          |
| an event's receipt | Receipts | event id                           |        |                             |          |
| a member's entry   | Rankings | board # ranking code # member      |        | board # ranking code/shard | sort key |
| a tier tree's node | Rankings | board # ranking code / path + lane |        |                             |          |

A ranking's code ends with `~` and the number of its generation, but for the first, and holds no `#` and no `/`.
The first lane of a node has no number, nor has the first shard: a ranking of one shard is spread over more without a
change of what is there.
Names of boards hold neither `#` nor `/`, so no two of these can be the same text.
"""

from typing import Final
from zlib import crc32

from standings.domain.boards.ranking import Ranking
from standings.domain.tiers.tier_path import FANOUT, Path
from standings.ports.scores import SLOTS

BOARDS: Final = "#boards"
PLACES: Final = "places"

_COUNTER: Final = [first + second for first in "qxyz" for second in "0123456789abcdefghijklmnopqrstuv"]
_DIGIT: Final = {name: digit for digit, name in enumerate(_COUNTER)}
if len(_DIGIT) != FANOUT:
    raise AssertionError("a counter's name for every child")


def slot_key(board: str, slot: int) -> str:
    """The partition of Scores that holds one slot of a board's members."""
    return f"{board}#{slot:02d}"


def member_key(board: str, member: str) -> tuple[str, str]:
    """The partition and sort key of a member's item."""
    return slot_key(board, crc32(member.encode()) % SLOTS), member


def member_item_key(board: str, member: str) -> dict[str, dict[str, str]]:
    """The key of a member's item, as DynamoDB has it."""
    partition, sort = member_key(board, member)
    return {"pk": {"S": partition}, "sk": {"S": sort}}


def board_of(partition: str) -> str:
    """The board of a member's item, told from its partition key."""
    return partition.rsplit("#", 1)[0]


def entry_key(ranking: Ranking, member: str) -> str:
    """The key of a member's row in a ranking."""
    return f"{ranking.key}#{member}"


def index_key(ranking: Ranking, shard: int) -> str:
    """The partition of the sorted index that holds one shard of a ranking's entries."""
    return index_key_of(ranking.key, shard)


def index_key_of(ranking: str, shard: int) -> str:
    """The same, for a ranking that is known by its key alone."""
    return f"{ranking}/{shard}" if shard else ranking


def shard_of(member: str, shards: int) -> int:
    """The shard that a member's entries are in."""
    return crc32(member.encode()) % shards


def node_key(ranking: Ranking, path: Path, lane: int = 0) -> str:
    """The key of one lane of a node: two hexadecimal digits for each step from the root."""
    return node_key_of(ranking.key, path, lane)


def node_key_of(ranking: str, path: Path, lane: int = 0) -> str:
    """The same, for a ranking that is known by its key alone."""
    return f"{ranking}/{bytes(path).hex()}" + (f"+{lane}" if lane else "")


def counter_name(digit: int) -> str:
    """The attribute that counts the members below a child: two characters, and no word that DynamoDB reserves."""
    return _COUNTER[digit]


def counter_digit(name: str) -> int | None:
    """The child that an attribute of a node counts; None for an attribute that is no counter."""
    return _DIGIT.get(name)
