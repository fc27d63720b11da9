"""The truth in DynamoDB: members' items, receipts, and the list of boards."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from standings.domain.boards import MAX_UNITS
from standings.domain.members import Image
from standings.domain.moves import Change
from standings.domain.windows import DAY, SECOND
from standings.dynamodb.keys import BOARDS, board_of, member_key
from standings.dynamodb.transactions import Item, batch_get, get_item, store_error, transact
from standings.services.store import (
    ChangeObstacle,
    ItemChange,
    MemberKey,
    Receipt,
    ReceiptObstacle,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

RECEIPT_LIFETIME: Final = 30 * DAY

# v: version, t: stamp, g: magnitude, h: hidden, e: expiry. All other numbers are accumulators.
_OTHERS: Final = {"pk", "sk", "v", "t", "g", "h", "e"}


def decode_image(item: Item) -> Image:
    """A member's item as an image; KeyError, ValueError or TypeError for what is none."""
    return Image(
        board=board_of(item["pk"]["S"]),
        member=item["sk"]["S"],
        version=int(item["v"]["N"]),
        stamp=int(item["t"]["N"]),
        magnitude=int(item["g"]["N"]) if "g" in item else 0,
        hidden="h" in item and bool(item["h"]["BOOL"]),
        values={name: int(value["N"]) for name, value in item.items() if name not in _OTHERS},
    )


def decode_change(record: Any) -> Change | None:
    """The change that a stream record's `dynamodb` part tells; None for an item that is no member's.

    KeyError, ValueError or TypeError for what is no such record.
    """
    if record["Keys"]["pk"]["S"] == BOARDS:
        return None
    old = decode_image(record["OldImage"]) if "OldImage" in record else None
    if "NewImage" in record:
        return Change(old, decode_image(record["NewImage"]))
    if old is None:
        raise KeyError("NewImage")
    return Change(old, old.without_scores())


class DynamoScores:
    """Scores and Receipts (`services.store.Scores`)."""

    def __init__(self, client: "DynamoDBClient", scores: str, receipts: str) -> None:
        self._client = client
        self._scores = scores
        self._receipts = receipts

    def images(self, keys: Iterable[MemberKey]) -> dict[MemberKey, Image]:
        items = batch_get(self._client, self._scores, [_key(*key) for key in keys])
        images = [decode_image(item) for item in items]
        return {(image.board, image.member): image for image in images}

    def image(self, key: MemberKey) -> Image | None:
        item = get_item(self._client, self._scores, _key(*key), consistent=True)
        return decode_image(item) if item is not None else None

    def receipt(self, event_id: str) -> bytes | None:
        item = get_item(self._client, self._receipts, {"pk": {"S": event_id}}, consistent=True)
        return bytes(item["d"]["B"]) if item is not None else None

    def apply(
        self, receipts: Sequence[Receipt], changes: Sequence[ItemChange], now: int
    ) -> list[ReceiptObstacle | ChangeObstacle]:
        expiry = str((now + RECEIPT_LIFETIME) // SECOND)
        actions = [self._receipt(receipt, expiry) for receipt in receipts]
        actions += [self._update(change) for change in changes]
        obstacles: list[ReceiptObstacle | ChangeObstacle] = []
        for index, hindrance, item, message in transact(self._client, actions):
            if index < len(receipts):
                digest = bytes(item["d"]["B"]) if item else None
                obstacles.append(ReceiptObstacle(index, hindrance, digest, message))
            else:
                image = decode_image(item) if item else None
                obstacles.append(ChangeObstacle(index - len(receipts), hindrance, image, message))
        return obstacles

    def register_board(self, board: str, rankings: frozenset[str], now: int) -> None:
        key = {"pk": {"S": BOARDS}, "sk": {"S": board}}
        if get_item(self._client, self._scores, key) is not None:
            return
        item: dict[str, Any] = {**key, "t": {"N": str(now)}}
        if rankings:
            item["r"] = {"SS": sorted(rankings)}
        try:
            self._client.put_item(TableName=self._scores, Item=item, ConditionExpression="attribute_not_exists(pk)")
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") != "ConditionalCheckFailedException":
                raise store_error(error) from error
        except BotoCoreError as error:
            raise store_error(error) from error

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

    def _update(self, change: ItemChange) -> dict[str, Any]:
        values = {
            ":i": {"N": "1"},
            ":t": {"N": str(change.stamp)},
            ":g": {"N": str(change.magnitude)},
        }
        for number, amount in enumerate(change.adds.values()):
            values[f":{number}"] = {"N": str(amount)}
        if not change.exact:
            condition = "attribute_not_exists(v) OR (t <= :t AND g <= :room)"
            values[":room"] = {"N": str(MAX_UNITS - change.magnitude)}
        elif change.seen is None:
            condition = "attribute_not_exists(v)"
        else:
            condition = "v = :v"
            values[":v"] = {"N": str(change.seen)}
        return {
            "Update": {
                "TableName": self._scores,
                "Key": _key(change.board, change.member),
                "UpdateExpression": _update_expression(tuple(change.adds), tuple(change.removes), exact=change.exact),
                "ConditionExpression": condition,
                "ExpressionAttributeValues": values,
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        }


@lru_cache(maxsize=4096)
def _update_expression(adds: tuple[str, ...], removes: tuple[str, ...], *, exact: bool) -> str:
    """The text of an update. A new item's version starts at the clock, above whatever was there under its key."""
    sets = ["v = if_not_exists(v, :t) + :i", "t = :t"]
    added = [f"{name} :{number}" for number, name in enumerate(adds)]
    (sets if exact else added).append("g = :g" if exact else "g :g")
    text = f"SET {', '.join(sets)} ADD {', '.join(added)}"
    return f"{text} REMOVE {', '.join(removes)}" if removes else text


def _key(board: str, member: str) -> dict[str, Any]:
    partition, sort = member_key(board, member)
    return {"pk": {"S": partition}, "sk": {"S": sort}}
