"""Applies corrections: each replaces what one event counted, or takes it back, in one transaction.

A transaction holds the receipt of the correction, that of its event, and the changes of all their members' items.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from standings import stores
from standings.aws.dynamodb.scores import Correction, NewReceipt, Receipt, Rewrite, Scores
from standings.catalog import BoardCatalog
from standings.domain import corrections, members
from standings.domain.boards import Boards, Family, family_of
from standings.domain.coverage import BoardRecord
from standings.domain.events import Event, RefusedEvent, content_digest, expired_board, other_content
from standings.domain.members import Content, EventPart, History, Image
from standings.domain.windows import MINUTE
from standings.runtime.clock import Backoff, Clock
from standings.stores import MemberKey
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
        except stores.StoreRefusedError as error:
            raise RefusedEvent("store", f"body: the store refuses it: {error}", correction.id) from error
        except members.UnknownSettlementError as error:
            raise corrections.refused(correction, str(error)) from error

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
            raise corrections.refused(correction, "it has not counted: post it, then the correction with a new id")
        content = _content_of(main, correction, now)
        records = self._register(correction, content)
        items = sorted({*content.counted, *correction.items})
        found = self._scores.images(items, consistent=True)
        now = self._clock.now()
        ended = {board for board, record in records.items() if record.has_ended(now)}
        # One that was taken back is left to the boards that have not ended.
        if ended and (correction.updates or len(ended) == len(records)):
            raise expired_board(min(ended), records[min(ended)].ends, correction.id)
        images = {item: found.get(item) if item[0] not in ended else None for item in items}
        stamp = max(stamp_of(images.values(), now), main.stamp)
        dated = corrections.dated(correction, content)
        plan = _Plan(dated, main, content, images, records, self._catalog.boards, stamp)
        changes, new = plan.changes(patches=False), plan.receipts()
        if self._scores.bytes_of(new, changes) > stores.MAX_TRANSACTION_BYTES:
            changes = plan.changes(patches=True)
        checks = list(records.values()) if correction.history else []
        conflicts = self._scores.apply(new, changes, now, records=checks)
        if invalid := [one.message for one in conflicts if one.reason is stores.CancelReason.INVALID]:
            raise stores.StoreRefusedError(invalid[0])
        if conflicts:
            raise stores.StoreUnavailableError(conflicts[0].message)
        return True

    def _register(self, correction: Event, content: Content) -> Mapping[str, BoardRecord]:
        """Register the boards of a correction and its event. Refuse it if one of them is being deleted."""
        boards = {board for board, _ in (*content.counted, *correction.items)}
        for board in boards:
            if self._catalog.boards.family(board) is None:
                raise corrections.refused(correction, f"no family in boards.toml matches its board {board!r}")
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


def _content_of(main: Receipt, correction: Event, now: int) -> Content:
    """What the receipt of an event says that it counted. Raises RefusedEvent if the event cannot be corrected."""
    refused = partial(corrections.refused, correction)
    if main.corrects is not None:
        raise refused(f"it is a correction: correct {main.corrects!r}, which it corrects")
    if main.expiry * 1000 <= now:
        raise refused("it counted more than 30 days ago: post the difference with a new id")
    content = corrections.decode_content(main.content or "")
    if content is None:
        raise refused(corrections.WHY_NOT[main.content or ""])
    return content


class _Plan(NamedTuple):
    """A correction (with an `at`), the receipt of its event, what that counted, and the images of all their members.

    An item of a board that has ended is None. `records` are those of all their boards. `stamp` is that of all items and
    receipts, in milliseconds.
    """

    correction: Event
    main: Receipt
    content: Content
    images: Mapping[MemberKey, Image | None]
    records: Mapping[str, BoardRecord]
    boards: Boards
    stamp: int

    @property
    def lost(self) -> set[MemberKey]:
        """The members that were removed after their event counted, with all that it added."""
        return {
            item
            for item in self.content.counted
            if (image := self.images[item]) is None or image.removed or (image.removed_at or 0) > self.main.stamp
        }

    def changes(self, *, patches: bool) -> list[Rewrite]:
        """The next image of each item. Raises RefusedEvent if the correction may not change it."""
        for item in sorted(self.content.counted):
            image = self.images[item]
            # The other member has what the event added.
            if image is not None and (image.merged_at or 0) > self.main.stamp:
                member = f"{item[1]!r} of board {item[0]!r} was merged into another member since"
                raise self._refused(f"{member}: post the difference for that member, with a new id")
        if self.correction.updates and (lost := sorted(self.lost)):
            member = f"{lost[0][1]!r} was removed from board {lost[0][0]!r} since"
            raise self._refused(f"{member}: take it back, then post the right content with a new id")
        parts = self._parts()
        items = [item for item in self.images if item in parts or item not in self.lost]
        if len(items) + 2 > stores.MAX_ACTIONS:
            raise self._refused("together they have too many members: take it back, then post a new event")
        return [self._change(item, parts.get(item), patches=patches) for item in items]

    def _refused(self, reason: str) -> RefusedEvent:
        return corrections.refused(self.correction, reason)

    def _parts(self) -> dict[MemberKey, EventPart]:
        one = self.correction
        history = {board: History(record.settled) if one.history else None for board, record in self.records.items()}
        return {
            (each.board, each.member): EventPart(one.id, one.at, each.amounts, history=history[each.board])
            for each in one.updates
        }

    def _change(self, item: MemberKey, part: EventPart | None, *, patches: bool) -> Rewrite:
        family, image, record = family_of(self.boards, item[0]), self.images[item], self.records[item[0]]
        counted = self.content.counted.get(item, {})
        if family.members == "registered" and (image is None or image.removed):
            detail = f"member: {item[1]!r} is not registered on board {item[0]!r}"
            raise RefusedEvent("unregistered", detail, self.correction.id)
        corrections.check_definition(family, self.correction, counted)
        if self.correction.history:
            if any(members.is_settled(family, name, History(record.settled), self.stamp) for name in counted):
                raise self._refused(f"a period in which it counted is settled: {_difference(family, counted)}")
        elif (period := corrections.closed_period(family, counted, self.stamp)) is not None:
            reason = f"{period} has closed: {_difference(family, counted)}"
            raise self._refused(f"{reason}, or, unless it is settled, correct it with history")
        before = image if image is not None else members.new_image(*item, self.stamp)
        after, changed = corrections.corrected(family, before, counted, part, self.stamp)
        after = replace(after, expiry=record.expiry)
        if (beyond := members.beyond_bounds(family, after, changed)) is not None:
            detail = f"metrics: {beyond} would go beyond ±(2^53 - 1) units"
            raise RefusedEvent("bounds", detail, self.correction.id)
        # Written even if nothing changes: a later removal must have a later stamp than the receipts.
        return rewrite(family, image, after, changed, self.stamp, patches=patches)

    def receipts(self) -> Sequence[NewReceipt]:
        """The receipt of the correction, and the next one of its event."""
        one, main, stamp = self.correction, self.main, self.stamp
        of, parts = str(one.corrects), self._parts()
        counted = {
            item: members.counted_in(family_of(self.boards, item[0]), part, stamp) for item, part in parts.items()
        }
        at, digest_at = (one.at, one.digest_at) if one.updates else self.content[:2]
        text = members.encode_content(of + one.id, Content(at, digest_at, counted))
        if text == members.TOO_LARGE:
            raise self._refused(
                "the new content counts in more places than a receipt has room for: use a shorter id, or "
                "take it back, then post the right content with a new id"
            )
        current = content_digest(one.digest_at, one.updates, self.boards) if one.updates else None
        counted_at = main.stamp if main.correction is None else main.correction.counted_at
        latest = Correction(one.id, stamp, current, counted_at)
        return [
            NewReceipt(one.id, one.digest, stamp, corrects=of),
            NewReceipt(of, main.digest, stamp, replaces=main, content=text, correction=latest, expiry=main.expiry),
        ]
