"""Scores, the source of truth (members' items, boards' records), and the receipts of events (idempotency records).

The legend of the attributes is in `tables`. All times are in milliseconds since 1970, and lifetimes in milliseconds.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from string import ascii_lowercase, digits
from typing import Any, Final, NamedTuple

import orjson

from standings import stores
from standings.aws.dynamodb import tables
from standings.aws.dynamodb.tables import BOARDS, MEMBER_FIELDS, DynamoDBClient, Item
from standings.domain.boards import MAX_UNITS
from standings.domain.coverage import CLOCK_SKEW_S, DELETE, BoardRecord, BucketCoverage, Coverage, Job
from standings.domain.members import Change, Image, new_image
from standings.domain.windows import DAY, SECOND
from standings.runtime.clock import Clock
from standings.stores import CancelReason, MemberKey

RECEIPT_LIFETIME: Final = 30 * DAY
REFUSAL_LIFETIME: Final = 14 * DAY  # As long as the dead-letter queue keeps the event
REMOVED_LIFETIME: Final = 60 * DAY  # Of a removed member's item: longer than anything older can be replayed
MAX_NUMBER: Final = 10**38 - 1  # DynamoDB's numbers have 38 digits
LAST_INSTANT: Final = 253_402_214_400_000  # The last day of Python's calendar
MAX_REASON_BYTES: Final = 450  # With the longest id, an item of at most a kilobyte: one write unit
_MOST_OF_RECEIPT: Final = 2_500
_MOST_OF_ADDITION: Final = 30_000  # Its expression has at most 4 KB
_MOST_OF_KEY: Final = 2_000
_MOST_OF_NUMBER: Final = 100  # A name and a number of an item, or in an expression that name and two tokens
_MOST_OF_TEXT: Final = 600
_TOKENS: Final = [first + second for first in digits + ascii_lowercase for second in digits + ascii_lowercase]
TEXT_PREFIXES: Final = (tables.TIE_KEY_PREFIX, tables.NOTE_PREFIX, tables.SET_KEY_PREFIX, tables.COMPANIONS_PREFIX)
_RECORD: Final = ("coverage", "codes", "generation", "written", "latest", "stale", "renewed", "job")  # As JSON
_NOT_COUNTED: Final = "attribute_not_exists(d)"
_AFTER_RECORDS: Final = "$"  # It sorts after the partitions of boards' records, and before the name of any board
_NEXT_VERSION: Final = "if_not_exists(v, :t) + :i"  # A new item starts at the clock: above any earlier item's version
_NOT_EXPIRED: Final = "(attribute_exists(x) OR e > :now)"  # An item of this board, or of a member that was removed
_STAMPED_BEFORE: Final = "t <= :t"  # No faster clock wrote the item. The fastest clock decides which events are late.


class Addition(NamedTuple):
    """Adds to a member's item without reading it. An item that was removed starts again.

    The store applies it if the item was not written after `written_at_ms` and its total has room for `abs_total`. With
    `known` the item must exist. `removes` are accumulators to remove. The accumulators in the parts of
    `texts_removed` lose their tie key, their note, their set key or their companions (`Image.texts`). `expiry` is that
    of the item (seconds). With one, nothing is added to an item of an earlier board of that name.
    """

    board: str
    member: str
    adds: Mapping[str, int]
    removes: Sequence[str]
    texts_removed: Sequence[Sequence[str]]
    written_at_ms: int
    abs_total: int
    known: bool
    expiry: int | None = None


class Rewrite(NamedTuple):
    """Replaces an image by the next one (optimistic concurrency). `before` is the image that was read; None: no item.

    If `image` has the same version, it is not written: the store only checks that it is still there. With `whole` false
    the store is sent only what differs from `before`. So the request is small, whatever the item is. It costs the same:
    a write is billed by the size of the item.
    """

    image: Image
    before: Image | None
    whole: bool = True


ItemChange = Addition | Rewrite


class Fence(NamedTuple):
    """Lets a task write only as long as it is the task of its board (a fencing token).

    A call that was held up may go on when another has finished the task. `token` is such as
    `delete/removing/1795256100000`.
    """

    board: str
    token: str


class FencedError(Exception):
    """The task is not, or is no longer, the current one of its board."""


class Correction(NamedTuple):
    """What a receipt keeps of the latest correction of its event.

    `current` is the digest of the content that counts now; None if the event was taken back. The correction `by`
    counted `at`, and the event itself first at `counted_at` (ms).
    """

    by: str
    at: int
    current: bytes | None
    counted_at: int


class Receipt(NamedTuple):
    """The stored receipt of an event that counted: its digest, and when it counted, in milliseconds.

    `stamp` is at least the stamp of each item that it counted in. `seen` is the attribute, with its value, by which a
    write makes sure that nobody else has replaced the receipt: `("t", 1795256100000)`. `content` is the text of what
    the event counted (`domain.corrections`), None before version 0.4. `corrects` is the event that it corrects, if it
    is the receipt of a correction. It goes at `expiry` (seconds).
    """

    digest: bytes
    stamp: int
    seen: tuple[str, int]
    content: str | None = None
    correction: Correction | None = None
    corrects: str | None = None
    expiry: int = 0

    @property
    def current(self) -> bytes | None:
        """The digest of the content that counts now; None if the event was taken back."""
        return self.digest if self.correction is None else self.correction.current


class NewReceipt(NamedTuple):
    """A receipt to write. Its `stamp` (ms) is the stamp of all items in its transaction.

    `is_superseded`: a number that the event sets was older than one that had counted. `replaces` is the receipt of the
    same event that it takes the place of: from before its members were removed, or before this `correction`. `content`
    is the text of what the event counted. `corrects` is the event that it corrects, if it is that of a correction.
    """

    event_id: str
    digest: bytes
    stamp: int
    is_superseded: bool = False
    replaces: Receipt | None = None
    content: str | None = None
    correction: Correction | None = None
    corrects: str | None = None
    expiry: int | None = None


class Conflict(NamedTuple):
    """A receipt or a change that cancelled a transaction. `position` counts all receipts, and then the changes.

    `receipt` or `image` is what is stored in its place; None if nothing is, or if it is not known.
    """

    position: int
    reason: CancelReason
    message: str
    receipt: Receipt | None = None
    image: Image | None = None


class EventStatus(NamedTuple):
    """What became of an event: it was counted or refused at `at`, in milliseconds. `reason` is None if it counted.

    `is_superseded`: a number that it sets was older than one that had counted, which stays. `correction` is the
    latest one of the event; `corrects` is the event that it corrects itself.
    """

    at: int
    reason: str | None
    is_superseded: bool = False
    correction: Correction | None = None
    corrects: str | None = None


@dataclass(unsafe_hash=True)
class DamagedItem(Exception):
    """A member's item, written by hand, is no image: `DamagedItem("berlin-2026", "u7", "KeyError: 'v'")`."""

    board: str
    member: str
    why: str

    def __str__(self) -> str:
        return f"the item of {self.member!r} on board {self.board!r} cannot be read: {self.why}"


class Scores:
    """Members' items, and the receipts of events. Every method may raise the errors of a store.

    Where an item cannot be read, the methods raise DamagedItem, and `members` returns it.
    """

    def __init__(self, client: DynamoDBClient, scores: str, receipts: str, clock: Clock) -> None:
        self._client = client
        self._scores = scores
        self._receipts = receipts
        self._clock = clock

    def images(
        self, keys: Iterable[MemberKey], *, consistent: bool = False, damaged: list[DamagedItem] | None = None
    ) -> dict[MemberKey, Image]:
        """Read items, eventually consistently by default: `{("berlin-2026", "u123"): Image(…)}`.

        A member without an item is left out. An item that cannot be read raises DamagedItem; with `damaged`, the error
        is appended to that list instead, and the member left out.
        """
        wanted = [tables.member_item_key(*key) for key in keys]
        images: dict[MemberKey, Image] = {}
        for item in tables.batch_get(self._client, self._scores, wanted, self._clock, consistent=consistent):
            image = decode_or_damage(item, self._now_for(item))
            if isinstance(image, Image):
                images[image.board, image.member] = image
            elif damaged is None:
                raise image
            else:
                damaged.append(image)
        return images

    def image(self, key: MemberKey) -> Image | None:
        """Read an item, strongly consistently; None if it does not exist."""
        item = tables.get_item(self._client, self._scores, tables.member_item_key(*key), consistent=True)
        return decode_stored(item, self._now_for(item)) if item is not None else None

    def _now_for(self, item: Item) -> int:
        """The time by which an item may have expired (ms). Most never do: then no clock is read."""
        return self._clock.now() if "e" in item and "x" not in item else 0

    def members(self, board: str, slot: int, after: str | None, limit: int) -> list[Image | DamagedItem]:
        """Read up to `limit` items of a slot, strongly consistently, in the order of members that follow `after`.

        Fewer than `limit` are the last: none follows.
        """
        values = {":p": {"S": tables.slot_key(board, slot)}}
        condition = "pk = :p"
        if after is not None:
            condition += " AND sk > :s"
            values[":s"] = {"S": after}
        items = tables.query_items(self._client, limit, self._scores, condition, values, ConsistentRead=True)
        return [decode_or_damage(item, self._now_for(item)) for item in items]

    def boards_of(self, member: str, after: str | None, limit: int) -> list[str]:
        """Up to `limit` boards that have an item of a member, by name, after a board: `["berlin-2026", "club"]`.

        It reads an index, which follows the items within about a second. So a board may be missing to which the member
        has just come, and one may be there whose item is gone or removed. Fewer than `limit` are the last.
        IndexNotBuiltError as long as the stack has no such index, or DynamoDB is still building it.
        """
        start = _AFTER_RECORDS if after is None else tables.member_key(after, member)[0]
        values = {":m": {"S": member}, ":p": {"S": start}}
        request = self._scores, "sk = :m AND pk > :p", values
        try:
            items = tables.query_items(self._client, limit, *request, IndexName=tables.MEMBER_BOARDS)
        except stores.StoreRefusedError as error:
            if "index" not in str(error):
                raise
            raise stores.IndexNotBuiltError(str(error)) from error
        return [tables.board_of(item["pk"]["S"]) for item in items]

    def receipts(self, event_ids: Iterable[str]) -> dict[str, Receipt]:
        """Read receipts by event id, strongly consistently. An event that was not applied is left out."""
        items = tables.items_by_key(self._client, self._receipts, event_ids, self._clock, consistent=True)
        return {event_id: receipt for event_id, item in items.items() if (receipt := _receipt_of(item)) is not None}

    def refuse(self, event_id: str, reason: str) -> None:
        """Store why an event was refused, for 14 days. A receipt stays as it is."""
        now = self._clock.now()
        item = {
            "pk": {"S": event_id},
            "w": {"S": reason.encode(errors="replace")[:MAX_REASON_BYTES].decode(errors="ignore")},
            "t": {"N": str(now)},
            "e": {"N": str((now + REFUSAL_LIFETIME) // SECOND)},
        }
        tables.put_if(self._client, self._receipts, item, _NOT_COUNTED)

    def status(self, event_id: str) -> EventStatus | None:
        """The status of an event, read strongly consistently; None if nothing is stored of it, or no longer."""
        item = tables.get_item(self._client, self._receipts, tables.item_key(event_id), consistent=True)
        if item is None or (expires := int(item["e"]["N"]) * SECOND) <= self._clock.now():
            return None
        if "d" in item:
            counted_at = int(item["t"]["N"]) if "t" in item else expires - RECEIPT_LIFETIME
            correction, corrects = _correction_of(item), item.get("o", {}).get("S")
            counted_at = counted_at if correction is None else correction.counted_at
            return EventStatus(counted_at, None, "s" in item, correction, corrects)
        return EventStatus(int(item["t"]["N"]), item["w"]["S"])

    def apply(
        self,
        receipts: Sequence[NewReceipt],
        changes: Sequence[ItemChange],
        now: int,
        fence: Fence | None = None,
        records: Iterable[BoardRecord] = (),
    ) -> list[Conflict]:
        """Write the receipts of events and the changes of items, all or nothing. Return the conflicts, if any.

        With a fence, one change fewer fits. Raises FencedError if the board's record has another token. `records` are
        boards' records that must still be as they were read; their positions come after those of the changes.
        """
        actions = self._actions(receipts, changes, now)
        actions += map(self._check_record, records)
        if fence is not None:
            actions.append(self._check(fence))
        conflicts: list[Conflict] = []
        for position, reason, item, message in tables.transact(self._client, actions):
            changed = position - len(receipts)
            if fence is not None and changed == len(changes):
                if reason is not CancelReason.BUSY:
                    raise FencedError(message)
                others = set(range(len(receipts), position)).difference(one.position for one in conflicts)
                return conflicts + [Conflict(busy, reason, message) for busy in sorted(others)]
            receipt = _receipt_of(item) if item and changed < 0 else None
            image = decode_stored(item, now) if item and 0 <= changed < len(changes) else None
            conflicts.append(Conflict(position, reason, message, receipt, image))
        return conflicts

    def bytes_of(self, receipts: Collection[NewReceipt], changes: Collection[ItemChange]) -> int:
        """An upper bound of the bytes of a transaction: a rough one if that is within the limit, else a close one."""
        most = len(receipts) * _MOST_OF_RECEIPT
        for change in changes:
            most += _MOST_OF_KEY if isinstance(change, Rewrite) and change.whole else _MOST_OF_ADDITION
            if isinstance(change, Rewrite):
                most += len(change.image.values) * _MOST_OF_NUMBER + sum(map(len, change.image.texts)) * _MOST_OF_TEXT
        if most > stores.MAX_TRANSACTION_BYTES:
            return tables.transaction_bytes(self._actions(receipts, changes, 0))
        return most

    def _actions(self, receipts: Iterable[NewReceipt], changes: Iterable[ItemChange], now: int) -> list[dict[str, Any]]:
        expiry = str((now + RECEIPT_LIFETIME) // SECOND)
        actions = [self._receipt(receipt, expiry) for receipt in receipts]
        for change in changes:
            if isinstance(change, Addition):
                actions.append(self._addition(change))
            else:
                is_whole = change.whole or (change.before is not None and change.before.is_left_over)
                actions.append(self._rewrite(change) if is_whole else self._patch(change))
        return actions

    def _receipt(self, receipt: NewReceipt, expiry: str) -> dict[str, Any]:
        item: dict[str, Any] = {
            "pk": {"S": receipt.event_id},
            "d": {"B": receipt.digest},
            "t": {"N": str(receipt.stamp)},
            "e": {"N": expiry if receipt.expiry is None else str(receipt.expiry)},
        }
        if receipt.is_superseded:
            item["s"] = {"BOOL": True}
        if receipt.content is not None:
            item["c"] = {"S": receipt.content}
        if receipt.corrects is not None:
            item["o"] = {"S": receipt.corrects}
        if (latest := receipt.correction) is not None:
            numbers = {"u": {"N": str(latest.at)}, "f": {"N": str(latest.counted_at)}}
            item |= {"b": {"S": latest.by}, **numbers}
            if latest.current is not None:
                item["n"] = {"B": latest.current}
        request = tables.conditional(self._receipts, *_as_seen(receipt.replaces))
        return {"Put": {**request, "Item": item}}

    def _addition(self, change: Addition) -> dict[str, Any]:
        room = MAX_UNITS - change.abs_total
        values = tables.numbers(i=1, t=change.written_at_ms, g=change.abs_total, room=room)
        values |= tables.numbers(**{str(number): amount for number, amount in enumerate(change.adds.values())})
        exists = "attribute_exists(v) AND attribute_not_exists(x) AND" if change.known else "attribute_not_exists(v) OR"
        allowed = f"{_STAMPED_BEFORE} AND g <= :room"
        if change.expiry is not None:
            values |= tables.numbers(e=change.expiry, now=change.written_at_ms // SECOND)
            allowed += f" AND {_NOT_EXPIRED}"
        condition = f"{exists} ({allowed})"
        texts = zip(TEXT_PREFIXES, change.texts_removed, strict=True)
        removes = (*change.removes, *(prefix + name for prefix, names in texts for name in names))
        return {
            "Update": {
                **tables.conditional(self._scores, condition, values),
                "Key": tables.member_item_key(change.board, change.member),
                "UpdateExpression": _addition_expression(
                    tuple(change.adds), removes, expires=change.expiry is not None
                ),
            }
        }

    def _check(self, fence: Fence) -> dict[str, Any]:
        request = tables.conditional(self._scores, "f = :f", {":f": {"S": fence.token}})
        return {"ConditionCheck": {**request, "Key": {"pk": {"S": BOARDS}, "sk": {"S": fence.board}}}}

    def _check_record(self, record: BoardRecord) -> dict[str, Any]:
        request = tables.conditional(self._scores, "v = :v", {":v": {"N": str(record.version)}})
        return {"ConditionCheck": {**request, "Key": _key(record.board)}}

    def _patch(self, change: Rewrite) -> dict[str, Any]:
        before = encode_image(change.before) if change.before is not None else {}
        after = encode_image(change.image)
        key = {name: after.pop(name) for name in ("pk", "sk")}
        # What version 0.3 wrote as `y` may differ from what was read as it.
        sets = {name: value for name, value in after.items() if value != before.get(name) or name == "y"}
        gone = [name for name in before if name not in after and name not in key]
        names = {name: f"#{token}" for name, token in zip([*sets, *gone], _TOKENS, strict=False)}
        # A tie key or a note that stands in many accumulators is sent once.
        tokens, values = iter(_TOKENS), {}
        for value in sets.values():
            if (content := tuple(value.items())) not in values:
                values[content] = f":{next(tokens)}"
        expression = "SET " + ",".join(f"{names[name]}={values[*value.items(),]}" for name, value in sets.items())
        if gone:
            expression += " REMOVE " + ",".join(names[name] for name in gone)
        request = tables.conditional(self._scores, *_seen(change.before))
        sent = {token: dict(content) for content, token in values.items()}
        return {
            "Update": {
                **request,
                "Key": key,
                "UpdateExpression": expression,
                "ExpressionAttributeNames": {token: name for name, token in names.items()},
                "ExpressionAttributeValues": sent | request.get("ExpressionAttributeValues", {}),
            }
        }

    def _rewrite(self, change: Rewrite) -> dict[str, Any]:
        request = tables.conditional(self._scores, *_seen(change.before))
        if change.before is not None and change.image.version == change.before.version:
            return {
                "ConditionCheck": {**request, "Key": tables.member_item_key(change.image.board, change.image.member)}
            }
        return {"Put": {**request, "Item": encode_image(change.image)}}


def _receipt_of(item: Item) -> Receipt | None:
    """The receipt that an item holds; None if it says why an event was refused."""
    if "d" not in item:
        return None
    expiry = int(item["e"]["N"])
    digest, content, corrects = bytes(item["d"]["B"]), item.get("c", {}).get("S"), item.get("o", {}).get("S")
    if "t" in item:
        stamp = int(item["t"]["N"])
        return Receipt(digest, stamp, ("t", stamp), content, _correction_of(item), corrects, expiry)
    # Version 0.3 kept no stamp: the event counted within this second, by the writer's clock.
    latest = (expiry + 1) * SECOND - RECEIPT_LIFETIME + CLOCK_SKEW_S * SECOND
    return Receipt(digest, latest, ("e", expiry), expiry=expiry)


def _correction_of(item: Item) -> Correction | None:
    """The latest correction in a receipt; None if there was none."""
    if "b" not in item:
        return None
    current = bytes(item["n"]["B"]) if "n" in item else None
    return Correction(item["b"]["S"], int(item["u"]["N"]), current, int(item["f"]["N"]))


def _as_seen(receipt: Receipt | None) -> tuple[str, dict[str, Any] | None]:
    """The condition that a receipt is as it was read (None: the event has not counted), and its values.

    Each correction has an id of its own, so no two states of a receipt are the same.
    """
    if receipt is None:
        return _NOT_COUNTED, None
    name, value = receipt.seen
    values: dict[str, Any] = {":seen": {"N": str(value)}}
    if receipt.correction is None:
        return f"{name} = :seen AND attribute_not_exists(b)", values
    return f"{name} = :seen AND b = :by", {**values, ":by": {"S": receipt.correction.by}}


def _seen(before: Image | None) -> tuple[str, dict[str, Any] | None]:
    """The condition that an item still has the version that was read (None: no item), and its values."""
    return ("attribute_not_exists(v)", None) if before is None else ("v = :v", {":v": {"N": str(before.version)}})


@lru_cache(maxsize=4096)
def _addition_expression(adds: tuple[str, ...], removes: tuple[str, ...], *, expires: bool) -> str:
    """The update expression of an addition. A member that was removed exists again, and expires with its board."""
    added = ", ".join(["g :g", *(f"{name} :{number}" for number, name in enumerate(adds))])
    if expires:
        return f"SET v = {_NEXT_VERSION}, t = :t, e = :e ADD {added} REMOVE {', '.join(['x', *removes])}"
    return f"SET v = {_NEXT_VERSION}, t = :t ADD {added} REMOVE {', '.join(['e', 'x', *removes])}"


def decode_image(item: Item, keys: Item | None = None, now: int | None = None) -> Image:
    """The image of a member's item. Raises KeyError, ValueError or TypeError if the item is malformed.

    ValueError also if it has another key than `keys` (None: any). An item that has expired by `now` (ms; None: none
    has) is of a board that has ended, and waits for its deletion: it is as one of a member that is not there.
    """
    if keys is not None and (item["pk"], item["sk"]) != (keys["pk"], keys["sk"]):
        raise ValueError(f"expected an image of {keys!r}, got one of {item['pk']!r} {item['sk']!r}")
    values, texts = _accumulators(item)
    version, written_at_ms = int(item["v"]["N"], 10), int(item["t"]["N"], 10)
    abs_total = int(item["g"]["N"], 10) if "g" in item else 0
    removed_at = int(item["y"]["N"], 10) if "N" in item.get("y", {}) else None
    if "y" in item and removed_at is None:
        # Version 0.3 wrote true: it is the item's own stamp, and unknown if the member has come back.
        removed_at = written_at_ms if "x" in item else 0
    merged_at = int(item["u"]["N"], 10) if "u" in item else None
    _check_bound(MAX_NUMBER, version, abs_total)
    _check_bound(LAST_INSTANT, written_at_ms, removed_at or 0, merged_at or 0)
    _check_bound(MAX_UNITS, *values.values())
    image = Image(
        board=tables.board_of(item["pk"]["S"]),
        member=item["sk"]["S"],
        version=version,
        written_at_ms=written_at_ms,
        abs_total=abs_total,
        hidden="h" in item and bool(item["h"]["BOOL"]),
        values=values,
        tie_keys=texts[tables.TIE_KEY_PREFIX],
        notes=texts[tables.NOTE_PREFIX],
        set_keys=texts[tables.SET_KEY_PREFIX],
        companions=texts[tables.COMPANIONS_PREFIX],
        removed="x" in item,
        removed_at=removed_at,
        merged_at=merged_at,
        expiry=int(item["e"]["N"], 10) if "e" in item and "x" not in item else None,
    )
    if image.expiry is None or now is None or now < image.expiry * SECOND:
        return image
    none = new_image(image.board, image.member, written_at_ms)
    return replace(none, version=version, abs_total=abs_total, removed=True)


def _accumulators(item: Item) -> tuple[dict[str, int], dict[str, dict[str, str]]]:
    """The numbers of an item's accumulators, and the texts beside them by their prefix."""
    values: dict[str, int] = {}
    texts: dict[str, dict[str, str]] = {prefix: {} for prefix in TEXT_PREFIXES}
    for name, value in item.items():
        if name in MEMBER_FIELDS:
            continue
        if "N" in value:
            values[name] = int(value["N"], 10)  # With a base, int() accepts text only
        elif "S" in value and name[:1] in texts:
            texts[name[:1]][name[1:]] = value["S"]
    return values, texts


def _check_bound(bound: int, *numbers: int) -> None:
    """Raise ValueError for a number that is beyond a bound: later stages would reject it, long after it was written."""
    for number in numbers:
        if not -bound <= number <= bound:
            raise ValueError(f"expected a number from -{bound} to {bound}, got {number}")


def decode_or_damage(item: Item, now: int) -> Image | DamagedItem:
    """The image of a stored item at `now` (ms), or what is wrong with the item."""
    try:
        return decode_image(item, now=now)
    except (KeyError, ValueError, TypeError) as error:
        return DamagedItem(tables.board_of(item["pk"]["S"]), item["sk"]["S"], f"{type(error).__name__}: {error}")


def decode_stored(item: Item, now: int) -> Image:
    """The image of a stored item at `now` (ms). Raises DamagedItem."""
    image = decode_or_damage(item, now)
    if isinstance(image, DamagedItem):
        raise image
    return image


def encode_image(image: Image) -> dict[str, Any]:
    """The item of an image, as in `{"pk": {"S": "berlin-2026#50"}, "sk": {"S": "u123"}, "h9e": {"N": "300"}, …}`.

    It is the inverse of `decode_image`. The item of a removed member expires.
    """
    item: dict[str, Any] = {
        **tables.member_item_key(image.board, image.member),
        "v": {"N": str(image.version)},
        "t": {"N": str(image.written_at_ms)},
        "g": {"N": str(image.abs_total)},
    }
    item.update((name, {"N": str(value)}) for name, value in image.values.items())
    for prefix, texts in zip(TEXT_PREFIXES, image.texts, strict=True):
        item.update((prefix + name, {"S": text}) for name, text in texts.items())
    if image.hidden:
        item["h"] = {"BOOL": True}
    if image.removed_at is not None:
        item["y"] = {"N": str(image.removed_at)}
    if image.merged_at is not None:
        item["u"] = {"N": str(image.merged_at)}
    if image.removed:
        item["x"] = {"BOOL": True}
        item["e"] = {"N": str((image.written_at_ms + REMOVED_LIFETIME) // SECOND)}
    elif image.expiry is not None:
        item["e"] = {"N": str(image.expiry)}
    return item


def decode_change(record: Any) -> Change | None:
    """The change in a record's `dynamodb` part; None if the item is a board's record.

    Raises KeyError, ValueError or TypeError if the record is malformed.
    """
    keys = record["Keys"]
    if _member_of(keys) is None:
        return None
    new = decode_image(record["NewImage"], keys) if "NewImage" in record else None
    # One that had expired when it was written over was of an earlier board of that name.
    now = None if new is None else new.written_at_ms
    old = decode_image(record["OldImage"], keys, now) if "OldImage" in record else None
    if new is not None:
        return Change(old, new)
    if old is None:
        raise KeyError("NewImage")
    return Change(old, old.without_scores())


def _member_of(keys: Any) -> MemberKey | None:
    """The member in the key of an item; None if it is a board's record."""
    partition = keys["pk"]["S"]
    if partition in (BOARDS, tables.DELETED_BOARDS):
        return None
    member = keys["sk"]["S"]
    if not (isinstance(partition, str) and isinstance(member, str)):
        raise TypeError(f"expected the text key of a member's item, got {keys!r}")
    board = tables.board_of(partition)
    if tables.member_key(board, member) != (partition, member):
        raise ValueError(f"expected the key of a member's item, got {partition!r} {member!r}")
    return board, member


class ParkedMember(NamedTuple):
    """The member that a parked record names.

    `gone` stands in for an item that no longer exists: the record's newest image without scores, one version on (None
    if the record has no readable image). `made` is when the record was made, in milliseconds, if it says so.
    """

    board: str
    member: str
    gone: Image | None
    made: int | None


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
            images.append(decode_image(content[name], content["Keys"]))
    gone = max(images, key=lambda image: image.version).without_scores() if images else None
    return ParkedMember(*key, gone, round(made * SECOND) if known else None)


class BoardRecords:
    """All records of boards. They are in Scores, because Rankings can be thrown away.

    The record of a deleted board is kept as a tombstone: a board that comes back goes on with its versions and
    generations. It is in a partition of its own, which no list reads. Version 0.2 left deleted boards among the others.
    Every method may raise the errors of a store.
    """

    def __init__(self, client: DynamoDBClient, scores: str, clock: Clock) -> None:
        self._client = client
        self._scores = scores
        self._clock = clock

    def records(self, boards: Iterable[str]) -> dict[str, BoardRecord]:
        """Read the records of these boards, strongly consistently. A board without a record is left out."""
        wanted = set(boards)
        found: dict[str, BoardRecord] = {}
        # In this order: a board that is deleted in between is found among the deleted ones.
        for partition in (BOARDS, tables.DELETED_BOARDS):
            keys = [_key(board, partition) for board in sorted(wanted - found.keys())]
            items = tables.batch_get(self._client, self._scores, keys, self._clock, consistent=True) if keys else []
            found |= {item["sk"]["S"]: decode_record(item) for item in items}
        return found

    def names(self, after: str | None, limit: int, prefix: str = "", *, leaving: bool = True) -> list[str]:
        """Up to `limit` names of boards with a prefix that sort after a name, such as `["berlin-2025", "berlin-2026"]`.

        Boards that were deleted or have ended are left out; without `leaving`, from a deletion's first moment on.
        """
        values: dict[str, Any] = {":p": {"S": BOARDS}}
        condition = "pk = :p"
        if after is not None and after >= prefix:
            # A query takes one condition on the sort key. The loop below drops names beyond the prefix.
            condition += " AND sk > :s"
            values[":s"] = {"S": after}
        elif prefix:
            condition += " AND begins_with(sk, :s)"
            values[":s"] = {"S": prefix}
        start: dict[str, Any] = {}
        names: list[str] = []
        left_out = 0
        while len(names) < limit:
            page_size = limit - len(names) + left_out
            page = tables.query_items(self._client, page_size, self._scores, condition, values, **start)
            page = [item for item in page if item["sk"]["S"].startswith(prefix)]
            found = [item["sk"]["S"] for item in page if self._is_there(item, leaving=leaving)]
            names += found
            left_out += len(page) - len(found)
            if len(page) < page_size:
                break
            start["ExclusiveStartKey"] = _key(page[-1]["sk"]["S"])
        return names[:limit]

    def _is_there(self, item: Item, *, leaving: bool) -> bool:
        """Whether a board is neither deleted nor ended; without `leaving`, nor is anybody deleting it."""
        if "x" in item or (not leaving and "f" in item and item["f"]["S"].startswith(f"{DELETE}/")):
            return False
        return "e" not in item or not decode_record(item).has_ended(self._clock.now())

    def put(self, record: BoardRecord, seen: BoardRecord | None) -> bool:
        """Replace the record that was seen (None: no record). False if there is another version."""
        version = None if seen is None else seen.version
        was_deleted, item = seen is not None and _is_done_with(seen), encode_record(record)
        if seen is None or was_deleted == _is_done_with(record):
            is_put = tables.put_version(self._client, self._scores, item, version)
        else:
            is_put = self._move(record, item, seen, was_deleted=was_deleted)
        return is_put or (
            was_deleted and tables.put_version(self._client, self._scores, {**item, "pk": {"S": BOARDS}}, version)
        )

    def _move(self, record: BoardRecord, item: Item, seen: BoardRecord, *, was_deleted: bool) -> bool:
        """Put a record among the deleted boards or back. Its tombstone stays. False if there is another version."""
        request = tables.conditional(self._scores, "v = :v", {":v": {"N": str(seen.version)}})
        actions: list[dict[str, Any]] = [
            {"Put": {"TableName": self._scores, "Item": item}},
            {"Delete": {**request, "Key": _key(seen.board)}},
        ]
        if was_deleted:
            tombstone: dict[str, Any] = {"ConditionCheck": {**request, "Key": _key(seen.board, tables.DELETED_BOARDS)}}
            if record.ends is not None and seen.ends is None:
                # The tombstone must go before this record does, or a later board would go on with its generation.
                tombstone = {"Put": {**request, "Item": encode_record(replace(seen, ends=record.ends))}}
            actions = [
                {"Put": {**tables.conditional(self._scores, "attribute_not_exists(pk)"), "Item": item}},
                tombstone,
            ]
        for _, reason, _, message in tables.transact(self._client, actions):
            if reason is CancelReason.BUSY:
                raise stores.StoreUnavailableError(message)
            return False
        return True


def _is_done_with(record: BoardRecord) -> bool:
    """Whether a board is deleted, and nothing is left to do."""
    return record.deleted and record.job is None


def _key(board: str, partition: str = BOARDS) -> Item:
    return {"pk": {"S": partition}, "sk": {"S": board}}


def encode_record(record: BoardRecord) -> dict[str, Any]:
    """The item of a record. Most of it is one JSON text, for people to read."""
    job = record.job
    content = {name: getattr(record, name) for name in _RECORD}
    content |= {"coverage": _encode_coverage(record.coverage), "codes": sorted(record.codes)}
    content["again"] = False  # Version 0.2 reads it
    if record.settled is not None:
        content["settled"] = sorted(record.settled)
    if record.ends is not None:
        content["ends"] = record.ends
    if job is not None:
        content["job"] = {**job._asdict(), "coverage": _encode_coverage(job.coverage)}
    item: dict[str, Any] = {
        **_key(record.board, tables.DELETED_BOARDS if _is_done_with(record) else BOARDS),
        "v": {"N": str(record.version)},
        "t": {"N": str(record.begun)},
        "d": {"S": orjson.dumps(content).decode()},
    }
    if record.deleted:
        item["x"] = {"BOOL": True}
    if job is not None:
        item["f"] = {"S": job.token}
    if record.gone_at is not None:
        item["e"] = {"N": str(-(-record.gone_at // SECOND))}
    return item


def decode_record(item: Item) -> BoardRecord:
    """The record of an item: the inverse of `encode_record`."""
    content = orjson.loads(item["d"]["S"])
    fields = {name: content[name] for name in _RECORD}
    fields |= {"coverage": _decode_coverage(content["coverage"]), "codes": frozenset(content["codes"])}
    fields |= {"written": tuple(content["written"]), "stale": tuple(content["stale"])}
    if (job := content["job"]) is not None:
        fields["job"] = Job(**{**job, "coverage": _decode_coverage(job["coverage"])})
    fields["settled"] = frozenset(content["settled"]) if "settled" in content else None
    fields["ends"] = content.get("ends")
    version, begun = int(item["v"]["N"]), int(item["t"]["N"])
    return BoardRecord(item["sk"]["S"], version, begun, deleted="x" in item, **fields)


def _encode_coverage(coverage: Coverage) -> dict[str, Any]:
    return {
        "rankings": sorted(coverage.rankings),
        "buckets": {
            code: {
                "windows": sorted(sorted(windows) for windows in bucket.windows),
                "first": bucket.first,
                **({"seasons": sorted(bucket.seasons)} if bucket.seasons else {}),
            }
            for code, bucket in sorted(coverage.buckets.items())
        },
        "late": coverage.late,
        "keep": coverage.keep,
        "totals": dict(sorted(coverage.totals.items())),
        "lost": sorted(coverage.lost),
    }


def _decode_coverage(content: Mapping[str, Any]) -> Coverage:
    buckets = {
        code: BucketCoverage(
            frozenset(map(frozenset, bucket["windows"])), bucket["first"], frozenset(bucket.get("seasons", ()))
        )
        for code, bucket in content["buckets"].items()
    }
    # Records of version 0.2 have neither totals nor lost ones.
    totals, lost = content.get("totals", {}), frozenset(content.get("lost", ()))
    return Coverage(frozenset(content["rankings"]), buckets, content["late"], content["keep"], totals, lost)
