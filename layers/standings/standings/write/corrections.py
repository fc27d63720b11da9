"""Applies corrections: each replaces what one event counted, or takes it back, in one transaction.

A transaction holds the receipt of the correction, that of its event, and the changes of all their members' items.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from standings.aws.dynamodb.scores import Correction, NewReceipt, Receipt, Rewrite, Scores
from standings.catalog import BoardCatalog
from standings.domain.boards import Family, family_of
from standings.domain.corrections import (
    WHY_NOT,
    check_definition,
    closed_period,
    corrected,
    dated,
    decode_content,
    refused,
)
from standings.domain.coverage import BoardRecord
from standings.domain.events import Event, RefusedEvent, content_digest, expired_board, other_content
from standings.domain.members import (
    TOO_LARGE,
    Content,
    EventPart,
    History,
    Image,
    UnknownSettlementError,
    beyond_bounds,
    counted_in,
    encode_content,
    is_settled,
    new_image,
)
from standings.domain.windows import MINUTE
from standings.runtime.clock import Backoff, Clock
from standings.stores import (
    MAX_ACTIONS,
    MAX_TRANSACTION_BYTES,
    CancelReason,
    MemberKey,
    StoreRefusedError,
    StoreUnavailableError,
)
from standings.write.writer import NotCountedYetError, rewrite, stamp_of

WAITS: Final = 15 * MINUTE
"""So long after it was sent, a correction that came before its event is refused. Until then it is delivered again."""


class Corrections:
    """Applies corrections, one by one."""

    def __init__(self, catalog: BoardCatalog, scores: Scores, clock: Clock) -> None:
        self._catalog = catalog
        self._scores = scores
        self._clock = clock

    def apply(self, correction: Event, first_sent: int | None, backoff: Backoff) -> bool:
        """Apply a correction whose message was first sent at an instant (ms); None if that is not known.

        False if it has counted before. Raises RefusedEvent, NotCountedYetError, StoreUnavailableError, and DamagedItem
        for an item that cannot be read.
        """
        backoff.check()
        try:
            return backoff.retry(self._attempt, correction, first_sent)
        except StoreRefusedError as error:
            raise RefusedEvent("store", f"body: the store refuses it: {error}", correction.id) from error
        except UnknownSettlementError as error:
            raise refused(correction, str(error)) from error

    def _attempt(self, correction: Event, first_sent: int | None) -> bool:
        """Try once. Raises StoreUnavailableError if the receipts or the items have changed since they were read."""
        of = str(correction.corrects)
        receipts = self._scores.receipts([correction.id, of])
        own, main = receipts.get(correction.id), receipts.get(of)
        if own is not None:
            if own.digest != correction.digest:
                raise RefusedEvent("id", other_content(correction.id), correction.id)
            return False
        now = self._clock.now()
        if main is None:
            if first_sent is None or now - first_sent < WAITS:
                raise NotCountedYetError(f"the event {of!r}, which it corrects, has not counted")
            raise refused(correction, "it has not counted: post it, then the correction with a new id")
        content = correctable(correction, main, now)
        records = self._register(correction, content)
        items = sorted({*content.counted, *correction.items})
        found = self._scores.images(items, consistent=True)
        now = self._clock.now()
        settled = {board: History(record.settled) for board, record in records.items()}
        ended = {board for board, record in records.items() if record.has_ended(now)}
        _check_open(correction, records, ended)
        images = {item: found.get(item) if item[0] not in ended else None for item in items}
        expiries = {board: record.expiry for board, record in records.items()}
        plan = _Plan(dated(correction, content), main, content, images, settled, expiries)
        changes = plan.changes(self._catalog, now, patches=False)
        new = plan.receipts(self._catalog, now)
        if self._scores.bytes_of(new, changes) > MAX_TRANSACTION_BYTES:
            changes = plan.changes(self._catalog, now, patches=True)
        checks = list(records.values()) if correction.history else []
        conflicts = self._scores.apply(new, changes, now, records=checks)
        if invalid := [one.message for one in conflicts if one.reason is CancelReason.INVALID]:
            raise StoreRefusedError(invalid[0])
        if conflicts:
            raise StoreUnavailableError(conflicts[0].message)
        return True

    def _register(self, correction: Event, content: Content) -> Mapping[str, BoardRecord]:
        """Register the boards of a correction and its event. Refuse it if one of them is being deleted."""
        boards = {board for board, _ in (*content.counted, *correction.items)}
        for board in boards:
            if self._catalog.boards.family(board) is None:
                raise refused(correction, f"no family in boards.toml matches its board {board!r}")
        records = self._catalog.register(boards)
        if leaving := sorted(board for board, record in records.items() if record.is_being_deleted):
            detail = f"board: {leaving[0]!r} is being deleted: replay the event once that has ended"
            raise RefusedEvent("deleting", detail, correction.id)
        return records


def _difference(family: Family, counted: Iterable[str]) -> str:
    """The advice to post the difference, which `least` may forbid."""
    metrics = (accumulator.metric for name in counted if (accumulator := family.accumulator(name)) is not None)
    bounded = sorted({metric.name for metric in metrics if metric.least is not None})
    lower = f" (if it is below `least` of {', '.join(bounded)}, lower that in boards.toml for that time)"
    return f"post the difference with a new id{lower if bounded else ''}"


def _check_open(correction: Event, records: Mapping[str, BoardRecord], ended: Collection[str]) -> None:
    """Refuse a correction of a board that has ended. One is taken back on those of its boards that have not."""
    if ended and (correction.updates or len(ended) == len(records)):
        board = min(ended)
        raise expired_board(board, records[board].ends, correction.id)


def correctable(correction: Event, main: Receipt, now: int) -> Content:
    """What the receipt of an event says that it counted. Raises RefusedEvent if the event cannot be corrected."""
    if main.corrects is not None:
        raise refused(correction, f"it is a correction: correct {main.corrects!r}, which it corrects")
    if main.expiry * 1000 <= now:
        raise refused(correction, "it counted more than 30 days ago: post the difference with a new id")
    content = decode_content(main.content or "")
    if content is None:
        raise refused(correction, WHY_NOT[main.content or ""])
    return content


class _Plan(NamedTuple):
    """A correction (with an `at`), the receipt of its event, what that counted, and the images of all their members.

    An item of a board that has ended is None. `settled` has what is settled of each of their boards, `expiries` from
    when on its items may be deleted (seconds; None: never).
    """

    correction: Event
    main: Receipt
    content: Content
    images: Mapping[MemberKey, Image | None]
    settled: Mapping[str, History]
    expiries: Mapping[str, int | None]

    @property
    def lost(self) -> set[MemberKey]:
        """The members that were removed after their event counted, with all that it added."""
        return {
            item
            for item in self.content.counted
            if (image := self.images[item]) is None or image.removed or (image.removed_at or 0) > self.main.stamp
        }

    @property
    def merged(self) -> set[MemberKey]:
        """The members that were merged into others after their event counted: the others have what it added."""
        return {
            item
            for item in self.content.counted
            if (image := self.images[item]) is not None and (image.merged_at or 0) > self.main.stamp
        }

    def stamp(self, now: int) -> int:
        """The stamp of all items and receipts, in milliseconds."""
        return max(stamp_of(self.images.values(), now), self.main.stamp)

    def changes(self, catalog: BoardCatalog, now: int, *, patches: bool) -> list[Rewrite]:
        """The next image of each item. Raises RefusedEvent if the correction may not change it."""
        if merged := sorted(self.merged):
            member = f"{merged[0][1]!r} of board {merged[0][0]!r} was merged into another member since"
            raise refused(self.correction, f"{member}: post the difference for that member, with a new id")
        if self.correction.updates and (lost := sorted(self.lost)):
            member = f"{lost[0][1]!r} was removed from board {lost[0][0]!r} since"
            raise refused(self.correction, f"{member}: take it back, then post the right content with a new id")
        parts = self._parts()
        items = [item for item in self.images if item in parts or item not in self.lost]
        if len(items) + 2 > MAX_ACTIONS:
            raise refused(self.correction, "together they have too many members: take it back, then post a new event")
        return [self._change(catalog, item, parts.get(item), now, patches=patches) for item in items]

    def _parts(self) -> dict[MemberKey, EventPart]:
        one = self.correction
        return {
            (each.board, each.member): EventPart(
                one.id, one.at, each.amounts, history=self.settled[each.board] if one.history else None
            )
            for each in one.updates
        }

    def _change(
        self, catalog: BoardCatalog, item: MemberKey, part: EventPart | None, now: int, *, patches: bool
    ) -> Rewrite:
        family, image, stamp = family_of(catalog.boards, item[0]), self.images[item], self.stamp(now)
        counted = self.content.counted.get(item, {})
        if family.members == "registered" and (image is None or image.removed):
            detail = f"member: {item[1]!r} is not registered on board {item[0]!r}"
            raise RefusedEvent("unregistered", detail, self.correction.id)
        check_definition(family, self.correction, counted)
        if self.correction.history:
            if any(is_settled(family, name, self.settled[item[0]], stamp) for name in counted):
                reason = f"a period in which it counted is settled: {_difference(family, counted)}"
                raise refused(self.correction, reason)
        elif (period := closed_period(family, counted, stamp)) is not None:
            reason = f"{period} has closed: {_difference(family, counted)}"
            raise refused(self.correction, f"{reason}, or, unless it is settled, correct it with history")
        before = image if image is not None else new_image(*item, stamp)
        after, changed = corrected(family, before, counted, part, stamp)
        after = replace(after, expiry=self.expiries[item[0]])
        if (beyond := beyond_bounds(family, after, changed)) is not None:
            detail = f"metrics: {beyond} would go beyond ±(2^53 - 1) units"
            raise RefusedEvent("bounds", detail, self.correction.id)
        # Written even if nothing changes: a later removal must have a later stamp than the receipts.
        return rewrite(family, image, after, changed, stamp, patches=patches)

    def receipts(self, catalog: BoardCatalog, now: int) -> Sequence[NewReceipt]:
        """The receipt of the correction, and the next one of its event."""
        one, main, stamp = self.correction, self.main, self.stamp(now)
        of, boards = str(one.corrects), catalog.boards
        counted = {item: counted_in(family_of(boards, item[0]), part, stamp) for item, part in self._parts().items()}
        at, digest_at = (one.at, one.digest_at) if one.updates else self.content[:2]
        text = encode_content(of + one.id, Content(at, digest_at, counted))
        if text == TOO_LARGE:
            raise refused(
                one,
                "the new content counts in more places than a receipt has room for: use a shorter id, or "
                "take it back, then post the right content with a new id",
            )
        current = content_digest(one.digest_at, one.updates, boards) if one.updates else None
        counted_at = main.stamp if main.correction is None else main.correction.counted_at
        latest = Correction(one.id, stamp, current, counted_at)
        return [
            NewReceipt(one.id, one.digest, stamp, corrects=of),
            NewReceipt(of, main.digest, stamp, replaces=main, content=text, correction=latest, expiry=main.expiry),
        ]
