"""Reads records of the stream of Scores."""

from contextlib import suppress
from typing import Any

from standings.aws.dynamodb.keys import BOARDS, board_of, member_key
from standings.aws.dynamodb.scores.member_items import LAST_INSTANT, decode_image
from standings.domain.members.member_item import Image
from standings.domain.members.moves import Change
from standings.domain.windows.calendar import SECOND
from standings.ports.scores import MemberKey, ParkedMember


def decode_change(record: Any) -> Change | None:
    """The change in a record's `dynamodb` part; None if the item is a board's record.

    Raises KeyError, ValueError or TypeError if the record is malformed.
    """
    key = _member_of(record["Keys"])
    if key is None:
        return None
    old = _image_of(key, record["OldImage"]) if "OldImage" in record else None
    if "NewImage" in record:
        return Change(old, _image_of(key, record["NewImage"]))
    if old is None:
        raise KeyError("NewImage")
    return Change(old, old.without_scores())


def decode_parked(record: Any) -> ParkedMember | None:
    """The member that a record names, even if its images are malformed; None if the item is a board's record.

    Raises KeyError, ValueError or TypeError if the record names no member.
    """
    content = record["dynamodb"]
    key = _member_of(content["Keys"])
    if key is None:
        return None
    made = content.get("ApproximateCreationDateTime")
    # In seconds. Anything that is not a possible time counts as unknown.
    known = isinstance(made, int | float) and 0 < made < LAST_INSTANT // SECOND
    images = []
    for name in ("NewImage", "OldImage"):
        with suppress(KeyError, TypeError, ValueError):
            images.append(_image_of(key, content[name]))
    gone = max(images, key=lambda image: image.version).without_scores() if images else None
    return ParkedMember(*key, gone, round(made * SECOND) if known else None)


def _member_of(keys: Any) -> MemberKey | None:
    """The board and member in an item's key; None for a board's record.

    Raises ValueError for an item of another table, KeyError or TypeError if the key is malformed.
    """
    partition = keys["pk"]["S"]
    if partition == BOARDS:
        return None
    member = keys["sk"]["S"]
    if not (isinstance(partition, str) and isinstance(member, str)):
        raise TypeError(f"expected the text key of a member's item, got {keys!r}")
    board = board_of(partition)
    if member_key(board, member) != (partition, member):
        raise ValueError(f"expected the key of a member's item, got {partition!r} {member!r}")
    return board, member


def _image_of(key: MemberKey, item: Any) -> Image:
    item_key = item["pk"]["S"], item["sk"]["S"]
    if item_key != member_key(*key):
        raise ValueError(f"expected an image of {key!r}, got one of {item_key!r}")
    return decode_image(item)
