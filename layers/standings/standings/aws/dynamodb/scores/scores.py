"""Reads and writes members' items and receipts."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from standings.aws.dynamodb.calls import DynamoDBClient, Item, batch_get, conditional, get_item, query_items, transact
from standings.aws.dynamodb.keys import BOARDS, NOTE_PREFIX, TIE_KEY_PREFIX, member_item_key, slot_key
from standings.aws.dynamodb.scores.member_items import decode_or_damage, decode_stored, encode_image
from standings.domain.boards.definitions import MAX_UNITS
from standings.domain.events.event import Event
from standings.domain.members.member_item import Image
from standings.domain.windows.calendar import DAY, SECOND
from standings.ports.errors import CancelReason
from standings.ports.scores import (
    Addition,
    DamagedItem,
    DamagedItemError,
    Fence,
    FencedError,
    ItemChange,
    ItemConflict,
    MemberKey,
    ReceiptConflict,
    Rewrite,
)
from standings.runtime.retry import Clock

RECEIPT_LIFETIME: Final = 30 * DAY
_NEXT_VERSION: Final = "if_not_exists(v, :t) + :i"  # A new item starts at the clock: above any earlier item's version
_STAMPED_BEFORE: Final = "t <= :t"  # No faster clock wrote the item. The fastest clock decides which events are late.


class DynamoScores:
    """Scores and Receipts (`ports.scores.Scores`)."""

    def __init__(self, client: DynamoDBClient, scores: str, receipts: str, clock: Clock) -> None:
        self._client = client
        self._scores = scores
        self._receipts = receipts
        self._clock = clock

    def images(
        self, keys: Iterable[MemberKey], *, consistent: bool = False, damaged: list[DamagedItem] | None = None
    ) -> dict[MemberKey, Image]:
        wanted = [member_item_key(*key) for key in keys]
        items = batch_get(self._client, self._scores, wanted, self._clock, consistent=consistent)
        return {(image.board, image.member): image for image in _images(items, damaged)}

    def image(self, key: MemberKey) -> Image | None:
        item = get_item(self._client, self._scores, member_item_key(*key), consistent=True)
        return decode_stored(item) if item is not None else None

    def members(self, board: str, slot: int, after: str | None, limit: int) -> list[Image | DamagedItem]:
        values = {":p": {"S": slot_key(board, slot)}}
        condition = "pk = :p"
        if after is not None:
            condition += " AND sk > :s"
            values[":s"] = {"S": after}
        items = query_items(self._client, limit, self._scores, condition, values, ConsistentRead=True)
        return [decode_or_damage(item) for item in items]

    def receipts(self, event_ids: Iterable[str]) -> dict[str, bytes]:
        keys = [{"pk": {"S": event_id}} for event_id in event_ids]
        items = batch_get(self._client, self._receipts, keys, self._clock, consistent=True)
        return {item["pk"]["S"]: bytes(item["d"]["B"]) for item in items}

    def apply(
        self, events: Sequence[Event], changes: Sequence[ItemChange], now: int, fence: Fence | None = None
    ) -> list[ReceiptConflict | ItemConflict]:
        expiry = str((now + RECEIPT_LIFETIME) // SECOND)
        actions = [self._receipt(event, expiry) for event in events]
        actions += [
            self._addition(change) if isinstance(change, Addition) else self._rewrite(change) for change in changes
        ]
        if fence is not None:
            actions.append(self._check(fence))
        conflicts: list[ReceiptConflict | ItemConflict] = []
        for index, reason, item, message in transact(self._client, actions):
            if index == len(events) + len(changes):
                if reason is not CancelReason.BUSY:
                    raise FencedError(message)
                conflicts += [ItemConflict(position, reason, None, message) for position in range(len(changes))]
                break
            if index < len(events):
                digest = bytes(item["d"]["B"]) if item else None
                conflicts.append(ReceiptConflict(index, reason, digest, message))
            else:
                image = decode_stored(item) if item else None
                conflicts.append(ItemConflict(index - len(events), reason, image, message))
        return conflicts

    def _receipt(self, event: Event, expiry: str) -> dict[str, Any]:
        item = {"pk": {"S": event.id}, "d": {"B": event.digest}, "e": {"N": expiry}}
        return {"Put": {**conditional(self._receipts, "attribute_not_exists(pk)"), "Item": item}}

    def _addition(self, change: Addition) -> dict[str, Any]:
        values = {
            ":i": {"N": "1"},
            ":t": {"N": str(change.written_at_ms)},
            ":g": {"N": str(change.abs_total)},
            ":room": {"N": str(MAX_UNITS - change.abs_total)},
        }
        values |= {f":{number}": {"N": str(amount)} for number, amount in enumerate(change.adds.values())}
        exists = "attribute_exists(v) AND attribute_not_exists(x) AND" if change.known else "attribute_not_exists(v) OR"
        tie_keys = (TIE_KEY_PREFIX + name for name in change.tie_keys_removed)
        removes = (*change.removes, *tie_keys, *(NOTE_PREFIX + name for name in change.notes_removed))
        return {
            "Update": {
                **conditional(self._scores, f"{exists} ({_STAMPED_BEFORE} AND g <= :room)", values),
                "Key": member_item_key(change.board, change.member),
                "UpdateExpression": _addition_expression(tuple(change.adds), removes),
            }
        }

    def _check(self, fence: Fence) -> dict[str, Any]:
        request = conditional(self._scores, "f = :f", {":f": {"S": fence.token}})
        return {"ConditionCheck": {**request, "Key": {"pk": {"S": BOARDS}, "sk": {"S": fence.board}}}}

    def _rewrite(self, change: Rewrite) -> dict[str, Any]:
        seen = None if change.seen is None else {":v": {"N": str(change.seen)}}
        request = conditional(self._scores, "v = :v" if seen else "attribute_not_exists(v)", seen)
        if change.image.version == change.seen:
            return {"ConditionCheck": {**request, "Key": member_item_key(change.image.board, change.image.member)}}
        return {"Put": {**request, "Item": encode_image(change.image)}}


def _images(items: Iterable[Item], damaged: list[DamagedItem] | None) -> Iterator[Image]:
    """Yield the images of items. Those that cannot be read go to `damaged`; without it, raise DamagedItemError."""
    for item in items:
        image = decode_or_damage(item)
        if isinstance(image, Image):
            yield image
        elif damaged is None:
            raise DamagedItemError(image)
        else:
            damaged.append(image)


@lru_cache(maxsize=4096)
def _addition_expression(adds: tuple[str, ...], removes: tuple[str, ...]) -> str:
    """The update expression of an addition. A member that was removed exists again, and does not expire."""
    added = ", ".join(["g :g", *(f"{name} :{number}" for number, name in enumerate(adds))])
    return f"SET v = {_NEXT_VERSION}, t = :t ADD {added} REMOVE {', '.join(['e', 'x', *removes])}"
