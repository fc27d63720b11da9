"""Records of the stream of Scores, as changes of members' images."""

from typing import Any

from standings.aws.dynamodb.keys import BOARDS, board_of, member_key
from standings.aws.dynamodb.scores.member_items import LAST_INSTANT, decode_image
from standings.domain.members.member_item import Image
from standings.domain.members.moves import Change
from standings.domain.windows.calendar import SECOND
from standings.ports.objects import ParkedMember
from standings.ports.scores import MemberKey


def decode_change(record: Any) -> Change | None:
    """The change that a stream record's `dynamodb` part tells; None for an item that is no member's.

    KeyError, ValueError or TypeError for what is no such record.
    """
    if record["Keys"]["pk"]["S"] == BOARDS:
        return None
    key = _member_of(record["Keys"])
    old = _image_of(key, record["OldImage"]) if "OldImage" in record else None
    if "NewImage" in record:
        return Change(old, _image_of(key, record["NewImage"]))
    if old is None:
        raise KeyError("NewImage")
    return Change(old, old.without_scores())


def decode_parked(record: Any) -> ParkedMember | None:
    """Whom a record of the stream names, also where its images are broken; None for an item that is no member's.

    KeyError, ValueError or TypeError for what names nobody.
    """
    told = record["dynamodb"]
    if told["Keys"]["pk"]["S"] == BOARDS:
        return None
    board, member = key = _member_of(told["Keys"])
    made = told.get("ApproximateCreationDateTime")
    # Whole seconds, or with decimals; what is no such time says nothing.
    known = isinstance(made, int | float) and 0 < made < LAST_INSTANT // SECOND
    images = [image for name in ("NewImage", "OldImage") if (image := _readable(key, told.get(name))) is not None]
    gone = max(images, key=lambda image: image.version).without_scores() if images else None
    return ParkedMember(board, member, gone, round(made * SECOND) if known else None)


def _member_of(keys: Any) -> MemberKey:
    """The board and the member that an item's key names.

    ValueError for the key of another table's item; KeyError or TypeError for what is no key.
    """
    partition, member = keys["pk"]["S"], keys["sk"]["S"]
    if not (isinstance(partition, str) and isinstance(member, str)):
        raise TypeError("the key of a member's item must be text")
    board = board_of(partition)
    if member_key(board, member) != (partition, member):
        raise ValueError(f"no key of a member's item: {partition!r} {member!r}")
    return board, member


def _image_of(key: MemberKey, item: Any) -> Image:
    found = item["pk"]["S"], item["sk"]["S"]
    if found != member_key(*key):
        raise ValueError(f"the image is of {found[0]!r} {found[1]!r}")
    return decode_image(item)


def _readable(key: MemberKey, item: Any) -> Image | None:
    try:
        return _image_of(key, item)
    except (KeyError, TypeError, ValueError):
        return None
