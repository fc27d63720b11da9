"""The truth in DynamoDB: members' items, and receipts."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from standings.aws.dynamodb.calls import Item, batch_get, get_item, query, transact
from standings.aws.dynamodb.keys import BOARDS, board_of, member_item_key, member_key, slot_key
from standings.domain.boards.definitions import MAX_UNITS
from standings.domain.members.member_item import Image
from standings.domain.members.moves import Change
from standings.domain.windows.late_and_keep import DAY, SECOND
from standings.ports.scores import (
    Addition,
    ChangeObstacle,
    ItemChange,
    MemberKey,
    Named,
    Receipt,
    ReceiptObstacle,
    Rewrite,
)
from standings.runtime.retry import Pacing

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

RECEIPT_LIFETIME: Final = 30 * DAY

REMOVED_LIFETIME: Final = 60 * DAY
"""How long a removed member leaves its version: longer than anything older can be replayed."""

MOST_NUMBER: Final = 10**38 - 1
"""DynamoDB's numbers have 38 digits."""

LAST_INSTANT: Final = 253_402_214_400_000
"""The last day that a calendar can name, in milliseconds."""

# v: version, t: stamp, g: magnitude, h: hidden, x: removed, e: expiry. All other numbers are accumulators; the mark
# of an accumulator is text under its name with another letter before it, which no code of three begins like.
_OTHERS: Final = {"pk", "sk", "v", "t", "g", "h", "x", "e"}
_MARK: Final = "m"

_NEXT_VERSION: Final = "if_not_exists(v, :t) + :i"
"""A new item's version starts at the clock, above whatever was there under its key."""

_STAMPED_BEFORE: Final = "t <= :t"
"""No faster clock has written the item: the newest clock decides what is late."""


def decode_image(item: Item) -> Image:
    """A member's item as an image; KeyError, ValueError or TypeError for what is none."""
    # With a base, int() takes nothing but text.
    rest = [(name, value) for name, value in item.items() if name not in _OTHERS]
    values = {name: int(value["N"], 10) for name, value in rest if "N" in value}
    if values:
        _check_bounds(min(values.values()), MAX_UNITS)
        _check_bounds(max(values.values()), MAX_UNITS)
    return Image(
        board=board_of(item["pk"]["S"]),
        member=item["sk"]["S"],
        version=_check_bounds(int(item["v"]["N"], 10), MOST_NUMBER),
        stamp=_check_bounds(int(item["t"]["N"], 10), LAST_INSTANT),
        magnitude=_check_bounds(int(item["g"]["N"], 10), MOST_NUMBER) if "g" in item else 0,
        hidden="h" in item and bool(item["h"]["BOOL"]),
        values=values,
        marks={name.removeprefix(_MARK): value["S"] for name, value in rest if "S" in value},
        removed="x" in item,
    )


def _check_bounds(number: int, most: int) -> int:
    """A number, no further from 0 than `most`: what is beyond would be refused late, by whoever reads it."""
    if not -most <= number <= most:
        raise ValueError(f"a number beyond {most}")
    return number


def encode_image(image: Image) -> dict[str, Any]:
    """The item of an image: the inverse of `decode_image`. That of a removed member expires."""
    item: dict[str, Any] = {
        **member_item_key(image.board, image.member),
        "v": {"N": str(image.version)},
        "t": {"N": str(image.stamp)},
        "g": {"N": str(image.magnitude)},
    }
    item.update((name, {"N": str(value)}) for name, value in image.values.items())
    item.update((_MARK + name, {"S": mark}) for name, mark in image.marks.items())
    if image.hidden:
        item["h"] = {"BOOL": True}
    if image.removed:
        item["x"] = {"BOOL": True}
        item["e"] = {"N": str((image.stamp + REMOVED_LIFETIME) // SECOND)}
    return item


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


def decode_parked(record: Any) -> Named | None:
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
    return Named(board, member, gone, round(made * SECOND) if known else None)


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


class DynamoScores:
    """Scores and Receipts (`ports.scores.Scores`)."""

    def __init__(self, client: "DynamoDBClient", scores: str, receipts: str, pacing: Pacing) -> None:
        self._client = client
        self._scores = scores
        self._receipts = receipts
        self._pacing = pacing

    def images(self, keys: Iterable[MemberKey]) -> dict[MemberKey, Image]:
        items = batch_get(self._client, self._scores, [member_item_key(*key) for key in keys], self._pacing)
        images = [decode_image(item) for item in items]
        return {(image.board, image.member): image for image in images}

    def image(self, key: MemberKey) -> Image | None:
        return read_image(self._client, self._scores, key)

    def members(self, board: str, slot: int, after: str | None, limit: int) -> list[Image]:
        values = {":p": {"S": slot_key(board, slot)}}
        condition = "pk = :p"
        if after is not None:
            condition += " AND sk > :s"
            values[":s"] = {"S": after}
        request = {
            "TableName": self._scores,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ConsistentRead": True,
        }
        return [decode_image(item) for answer in query(self._client, request, limit) for item in answer["Items"]]

    def receipt(self, event_id: str) -> bytes | None:
        item = get_item(self._client, self._receipts, {"pk": {"S": event_id}}, consistent=True)
        return bytes(item["d"]["B"]) if item is not None else None

    def apply(
        self, receipts: Sequence[Receipt], changes: Sequence[ItemChange], now: int
    ) -> list[ReceiptObstacle | ChangeObstacle]:
        expiry = str((now + RECEIPT_LIFETIME) // SECOND)
        actions = [self._receipt(receipt, expiry) for receipt in receipts]
        actions += [
            self._addition(change) if isinstance(change, Addition) else self._rewrite(change) for change in changes
        ]
        obstacles: list[ReceiptObstacle | ChangeObstacle] = []
        for index, hindrance, item, message in transact(self._client, actions):
            if index < len(receipts):
                digest = bytes(item["d"]["B"]) if item else None
                obstacles.append(ReceiptObstacle(index, hindrance, digest, message))
            else:
                image = decode_image(item) if item else None
                obstacles.append(ChangeObstacle(index - len(receipts), hindrance, image, message))
        return obstacles

    def _receipt(self, receipt: Receipt, expiry: str) -> dict[str, Any]:
        return {
            "Put": {
                "TableName": self._receipts,
                "Item": {
                    "pk": {"S": receipt.event_id},
                    "d": {"B": receipt.digest},
                    "e": {"N": expiry},
                },
                "ConditionExpression": "attribute_not_exists(pk)",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        }

    def _addition(self, change: Addition) -> dict[str, Any]:
        values = {
            ":i": {"N": "1"},
            ":t": {"N": str(change.stamp)},
            ":g": {"N": str(change.magnitude)},
            ":room": {"N": str(MAX_UNITS - change.magnitude)},
        }
        for number, amount in enumerate(change.adds.values()):
            values[f":{number}"] = {"N": str(amount)}
        there = "attribute_exists(v) AND attribute_not_exists(x) AND" if change.known else "attribute_not_exists(v) OR"
        return {
            "Update": {
                "TableName": self._scores,
                "Key": member_item_key(change.board, change.member),
                "UpdateExpression": _addition_expression(
                    tuple(change.adds), (*change.removes, *(_MARK + name for name in change.unmarks))
                ),
                "ConditionExpression": f"{there} ({_STAMPED_BEFORE} AND g <= :room)",
                "ExpressionAttributeValues": values,
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        }

    def _rewrite(self, change: Rewrite) -> dict[str, Any]:
        request: dict[str, Any] = {
            "TableName": self._scores,
            "ConditionExpression": "attribute_not_exists(v)",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        if change.seen is not None:
            request["ConditionExpression"] = "v = :v"
            request["ExpressionAttributeValues"] = {":v": {"N": str(change.seen)}}
        if change.image.version == change.seen:
            return {"ConditionCheck": {**request, "Key": member_item_key(change.board, change.member)}}
        return {"Put": {**request, "Item": encode_image(change.image)}}


@lru_cache(maxsize=4096)
def _addition_expression(adds: tuple[str, ...], removes: tuple[str, ...]) -> str:
    """The text of an update."""
    added = ", ".join(["g :g", *(f"{name} :{number}" for number, name in enumerate(adds))])
    # Whoever is counted is there again, if it was removed, and expires no more.
    gone = ", ".join(["e", "x", *removes])
    return f"SET v = {_NEXT_VERSION}, t = :t ADD {added} REMOVE {gone}"


def read_image(client: "DynamoDBClient", scores: str, key: MemberKey) -> Image | None:
    """The item of a member as it is now; None where there is none."""
    item = get_item(client, scores, member_item_key(*key), consistent=True)
    return decode_image(item) if item is not None else None
