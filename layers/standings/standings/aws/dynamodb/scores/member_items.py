"""A member's item: from and to an image."""

from typing import Any, Final

from standings.aws.dynamodb.calls import Item
from standings.aws.dynamodb.keys import board_of, member_item_key
from standings.domain.boards.definitions import MAX_UNITS
from standings.domain.members.member_item import Image
from standings.domain.windows.calendar import DAY, SECOND

REMOVED_LIFETIME: Final = 60 * DAY
"""How long a removed member leaves its version: longer than anything older can be replayed."""

MAX_NUMBER: Final = 10**38 - 1
"""DynamoDB's numbers have 38 digits."""

LAST_INSTANT: Final = 253_402_214_400_000
"""The last day that a calendar can name, in milliseconds."""

# v: version, t: stamp, g: magnitude, h: hidden, x: removed, e: expiry. All other numbers are accumulators; the mark
# of an accumulator is text under its name with another letter before it, which no code of three begins like.
_OTHERS: Final = {"pk", "sk", "v", "t", "g", "h", "x", "e"}
MARK: Final = "m"


def decode_image(item: Item) -> Image:
    """A member's item as an image; KeyError, ValueError or TypeError for what is none."""
    # With a base, int() takes nothing but text.
    rest = [(name, value) for name, value in item.items() if name not in _OTHERS]
    values = {name: int(value["N"], 10) for name, value in rest if "N" in value}
    if values:
        check_bounds(min(values.values()), MAX_UNITS)
        check_bounds(max(values.values()), MAX_UNITS)
    return Image(
        board=board_of(item["pk"]["S"]),
        member=item["sk"]["S"],
        version=check_bounds(int(item["v"]["N"], 10), MAX_NUMBER),
        written_at_ms=check_bounds(int(item["t"]["N"], 10), LAST_INSTANT),
        abs_total=check_bounds(int(item["g"]["N"], 10), MAX_NUMBER) if "g" in item else 0,
        hidden="h" in item and bool(item["h"]["BOOL"]),
        values=values,
        tie_keys={name.removeprefix(MARK): value["S"] for name, value in rest if "S" in value},
        removed="x" in item,
    )


def check_bounds(number: int, most: int) -> int:
    """A number, no further from 0 than `most`: what is beyond would be refused late, by whoever reads it."""
    if not -most <= number <= most:
        raise ValueError(f"a number beyond {most}")
    return number


def encode_image(image: Image) -> dict[str, Any]:
    """The item of an image: the inverse of `decode_image`. That of a removed member expires."""
    item: dict[str, Any] = {
        **member_item_key(image.board, image.member),
        "v": {"N": str(image.version)},
        "t": {"N": str(image.written_at_ms)},
        "g": {"N": str(image.abs_total)},
    }
    item.update((name, {"N": str(value)}) for name, value in image.values.items())
    item.update((MARK + name, {"S": tie_key}) for name, tie_key in image.tie_keys.items())
    if image.hidden:
        item["h"] = {"BOOL": True}
    if image.removed:
        item["x"] = {"BOOL": True}
        item["e"] = {"N": str((image.written_at_ms + REMOVED_LIFETIME) // SECOND)}
    return item
