"""Members' items, and the records that their stream has of them. The legend of the attributes is in `keys`."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from standings.aws.dynamodb.calls import Item
from standings.aws.dynamodb.keys import (
    BOARDS,
    DELETED_BOARDS,
    MEMBER_FIELDS,
    NOTE_PREFIX,
    TIE_KEY_PREFIX,
    board_of,
    member_item_key,
    member_key,
)
from standings.domain.boards.definitions import MAX_UNITS
from standings.domain.members.member_item import Image
from standings.domain.members.moves import Change
from standings.domain.windows.calendar import DAY, SECOND
from standings.ports.scores import DamagedItem, DamagedItemError, MemberKey, ParkedMember

REMOVED_LIFETIME: Final = 60 * DAY  # Of a removed member's item: longer than anything older can be replayed
MAX_NUMBER: Final = 10**38 - 1  # DynamoDB's numbers have 38 digits
LAST_INSTANT: Final = 253_402_214_400_000  # The last day of Python's calendar, in milliseconds


def decode_image(item: Item) -> Image:
    """The image of a member's item. Raises KeyError, ValueError or TypeError if the item is malformed."""
    # With a base, int() accepts text only.
    rest = [(name, value) for name, value in item.items() if name not in MEMBER_FIELDS]
    values = {name: int(value["N"], 10) for name, value in rest if "N" in value}
    if values:
        _check_bounds(min(values.values()), MAX_UNITS)
        _check_bounds(max(values.values()), MAX_UNITS)
    return Image(
        board=board_of(item["pk"]["S"]),
        member=item["sk"]["S"],
        version=_check_bounds(int(item["v"]["N"], 10), MAX_NUMBER),
        written_at_ms=_check_bounds(int(item["t"]["N"], 10), LAST_INSTANT),
        abs_total=_check_bounds(int(item["g"]["N"], 10), MAX_NUMBER) if "g" in item else 0,
        hidden="h" in item and bool(item["h"]["BOOL"]),
        values=values,
        tie_keys=_texts(rest, TIE_KEY_PREFIX),
        notes=_texts(rest, NOTE_PREFIX),
        removed="x" in item,
        was_removed="y" in item,
    )


def decode_or_damage(item: Item) -> Image | DamagedItem:
    """The image of a stored item, or what is wrong with the item."""
    try:
        return decode_image(item)
    except (KeyError, ValueError, TypeError) as error:
        return DamagedItem(board_of(item["pk"]["S"]), item["sk"]["S"], f"{type(error).__name__}: {error}")


def decode_stored(item: Item) -> Image:
    """The image of a stored item. Raises DamagedItemError."""
    image = decode_or_damage(item)
    if isinstance(image, DamagedItem):
        raise DamagedItemError(image)
    return image


def _texts(attributes: Iterable[tuple[str, Any]], prefix: str) -> dict[str, str]:
    """The texts of accumulators, by accumulator."""
    return {name[1:]: value["S"] for name, value in attributes if name[:1] == prefix and "S" in value}


def _check_bounds(number: int, bound: int) -> int:
    """Return a number from -bound to bound. Later stages would reject a larger one, long after it was written."""
    if not -bound <= number <= bound:
        raise ValueError(f"expected a number from -{bound} to {bound}, got {number}")
    return number


def encode_image(image: Image) -> dict[str, Any]:
    """The item of an image: the inverse of `decode_image`. The item of a removed member expires."""
    item: dict[str, Any] = {
        **member_item_key(image.board, image.member),
        "v": {"N": str(image.version)},
        "t": {"N": str(image.written_at_ms)},
        "g": {"N": str(image.abs_total)},
    }
    item.update((name, {"N": str(value)}) for name, value in image.values.items())
    item.update((TIE_KEY_PREFIX + name, {"S": tie_key}) for name, tie_key in image.tie_keys.items())
    item.update((NOTE_PREFIX + name, {"S": note}) for name, note in image.notes.items())
    if image.hidden:
        item["h"] = {"BOOL": True}
    if image.was_removed:
        item["y"] = {"BOOL": True}
    if image.removed:
        item["x"] = {"BOOL": True}
        item["e"] = {"N": str((image.written_at_ms + REMOVED_LIFETIME) // SECOND)}
    return item


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
    partition = keys["pk"]["S"]
    if partition in (BOARDS, DELETED_BOARDS):
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
