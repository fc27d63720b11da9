"""Changes that people make to members: their profiles, and whether a board lists, hides, removes or merges them.

Also the list of a board's members, hidden ones among them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from standings.aws.dynamodb.profiles import Profiles
from standings.aws.dynamodb.scores import REMOVED_LIFETIME, DamagedItem, Rewrite, Scores
from standings.catalog import BoardCatalog
from standings.domain.boards import Family, check_member, family_of, is_total
from standings.domain.coverage import BoardRecord
from standings.domain.errors import bad_argument, being_deleted, ended, no_such_member
from standings.domain.members import Image, beyond_bounds, merged, new_image, registered, removed, rewritten
from standings.domain.profiles import changes_of
from standings.domain.windows import instant
from standings.runtime.clock import RETRIED_FOR_S, Backoff, Clock
from standings.stores import SLOTS, StoreUnavailableError

MAX_LOOKED_AT: Final = 10_000  # Items after which a list ends
MAX_LISTED: Final = 1_000  # Members after which it ends
PAGE: Final = 500


class MemberAdmin:
    """Registers, hides, removes and merges members. Only their items are written; rankings follow as after an event.

    Items are written on condition that nobody else has changed them. Raises RequestError, and StoreUnavailableError
    once the clock's retries are used up.
    """

    def __init__(self, catalog: BoardCatalog, scores: Scores, clock: Clock) -> None:
        self._catalog = catalog
        self._scores = scores
        self._clock = clock

    def put(self, board: str, member: str, hidden: bool | None) -> dict[str, Any]:  # noqa: FBT001 - as the body has it
        """Register a member if it is new, and hide or show it; `hidden` None leaves that as it is.

        Returns `{"board": "berlin-2026", "member": "u7", "hidden": False}`. Raises NotFoundError if the board is being
        deleted.
        """
        family = family_of(self._catalog.boards, board)
        check_member("id", member)
        backoff = self._clock.backoff_for(RETRIED_FOR_S)
        expiry = backoff.retry(self._registered, board).expiry

        def put(image: Image | None, written_at_ms: int) -> Image:
            if image is None or image.removed:
                image = registered(family, image or new_image(board, member, written_at_ms))
            elif hidden in (None, image.hidden):
                return image
            image = replace(image, expiry=expiry, hidden=image.hidden if hidden is None else hidden)
            return rewritten(image, written_at_ms)

        return {"board": board, "member": member, "hidden": self._change(board, member, put, backoff).hidden}

    def remove(self, board: str, member: str) -> None:
        """Remove a member and its scores. Raises NotFoundError if the board has no such member.

        Its item keeps a version; if the member comes back, it starts above that.
        """
        family = family_of(self._catalog.boards, board)
        check_member("id", member)

        def remove(image: Image | None, _: int) -> Image:
            if (image is not None and image.expiry is not None) or family.expires is not None:
                self._check_open(board)
            if image is None or image.removed:
                raise no_such_member(board, member)
            return removed(image, self._clock.now())

        self._change(board, member, remove, self._clock.backoff_for(RETRIED_FOR_S))

    def merge(self, board: str, old: str, new: str) -> dict[str, Any]:
        """Give all that a member has to another one, in one transaction. The first one is gone then.

        Returns `{"board": "b", "old": "u7", "new": "u8", "merged": True, "hidden": False, "merged_at": 1795256100000}`;
        `merged` is False if that was done before. The other one is registered, and hidden if either was.

        Raises NotFoundError if the board has no such member, or is being deleted; InvalidArgumentError for a member and
        itself, and where a number would go beyond the bounds.
        """
        family = family_of(self._catalog.boards, board)
        check_two(old, new)
        backoff = self._clock.backoff_for(RETRIED_FOR_S)
        if family.expires is not None:
            backoff.retry(self._check_open, board)
        tried: int | None = None

        def attempt() -> dict[str, Any]:
            nonlocal tried
            said = {"board": board, "old": old, "new": new}
            before, other = self._scores.image((board, old)), self._scores.image((board, new))
            if before is not None and before.removed and before.written_at_ms + REMOVED_LIFETIME <= self._clock.now():
                before = None  # TTL is late. It may be of an earlier board of the name
            is_gone = before is None or before.removed
            if before is not None and before.merged_at is not None and (is_gone or before.merged_at == tried):
                # Done before, or by an earlier try whose answer was lost.
                hidden = other is not None and other.hidden
                is_done = before.merged_at == tried
                return {**said, "merged": is_done, "hidden": hidden, "merged_at": before.merged_at}
            if before is None or is_gone:
                raise no_such_member(board, old)
            now = self._clock.now()
            target = other or new_image(board, new, max(now, before.written_at_ms + 1))
            left, after = _merged(family, self._registered(board), before, target, now)
            tried = left.merged_at
            if conflicts := self._scores.apply([], [Rewrite(left, before), Rewrite(after, other)], now):
                raise StoreUnavailableError(conflicts[0].message)
            return {**said, "merged": True, "hidden": after.hidden, "merged_at": tried}

        return backoff.retry(attempt)

    def list(
        self, deadline: float, *, board: str, hidden: bool = False, cursor: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The members of a board, or its `hidden` ones, in no order: `{"done": False, "cursor": {"slot": 3, …}, …}`.

        `members` are such as `{"member": "u7", "hidden": True}`, `looked_at` counts the items that were read, at most
        some 10,000 until a deadline in seconds of the monotonic clock. `problems` name items that cannot be read. Pass
        the `cursor` to go on. Raises NotFoundError, and ValueError if the board has had no event.
        """
        family_of(self._catalog.boards, board)
        self._catalog.known(board)
        backoff = self._clock.backoff(deadline)
        slot, after = (cursor or {}).get("slot", 0), (cursor or {}).get("after")
        looked_at, members, problems = 0, list[dict[str, Any]](), list[str]()
        while slot < SLOTS and looked_at < MAX_LOOKED_AT and len(members) < MAX_LISTED and not backoff.expired:
            page = backoff.retry(self._scores.members, board, slot, after, PAGE)
            looked_at += len(page)
            problems += (str(one) for one in page if isinstance(one, DamagedItem))
            there = (one for one in page if isinstance(one, Image) and not one.removed)
            members += ({"member": one.member, "hidden": one.hidden} for one in there if one.hidden or not hidden)
            slot, after = (slot + 1, None) if len(page) < PAGE else (slot, page[-1].member)
        answer = {"done": slot == SLOTS, "cursor": {"slot": slot, "after": after}, "looked_at": looked_at}
        return {**answer, "members": members, "problems": problems}

    def _registered(self, board: str) -> BoardRecord:
        """The record of a board that has a new change. Raises NotFoundError if it is being deleted, or has ended."""
        record = self._catalog.register([board])[board]
        if record.has_ended(self._clock.now()):
            raise ended(board, instant(record.ends))
        if record.is_being_deleted:
            raise being_deleted(board)
        return record

    def _check_open(self, board: str) -> None:
        record = self._catalog.written([board]).get(board)
        if record is not None and record.has_ended(self._clock.now()):
            raise ended(board, instant(record.ends))

    def _change(self, board: str, member: str, change: Callable[[Image | None, int], Image], backoff: Backoff) -> Image:
        """Replace a member's image by the one that `change` returns; write nothing if that is the same one."""
        tried: Image | None = None

        def attempt() -> Image:
            nonlocal tried
            before = self._scores.image((board, member))
            if before is not None and before == tried:
                return before  # an earlier try was written, but its answer was lost
            now = self._clock.now()
            after = change(before, max(now, before.written_at_ms) if before is not None else now)
            if after is not before:
                tried = after
                if conflicts := self._scores.apply([], [Rewrite(after, before)], now):
                    raise StoreUnavailableError(conflicts[0].message)
            return after

        return backoff.retry(attempt)


def check_two(old: str, new: str) -> None:
    """Raise InvalidArgumentError unless these are the ids of two members, the first of which is to be merged."""
    check_member("old", old)
    check_member("new", new)
    if old == new:
        raise bad_argument("new", "expected another member than old, got the same one")


def _merged(family: Family, record: BoardRecord, old: Image, new: Image, now: int) -> tuple[Image, Image]:
    """Both images after a merge. Raises InvalidArgumentError if the numbers of both do not fit together."""
    both = old.values.keys() & new.values.keys()
    # Totals that another definition counts. Those of a definition that is gone are never ranked again.
    unknown = [name for name in both - record.coverage.lost if family.accumulator(name) is None and is_total(name)]
    if unknown:
        detail = "both members have numbers that this boards.toml does not know: merge them once it is deployed"
        raise bad_argument("new", detail)
    left, after, changed = merged(family, old, new, now)
    if (beyond := beyond_bounds(family, after, changed)) is not None:
        detail = f"expected members whose numbers fit together: {beyond} would go beyond ±(2^53 - 1) units"
        raise bad_argument("new", detail)
    return left, replace(after, expiry=record.expiry)


@dataclass(frozen=True)
class ProfileAdmin:
    """Changes profiles; each change is one write. Boards and rankings hold no copy, so nothing else is written.

    Raises RequestError, and StoreUnavailableError once the clock's retries are used up.
    """

    profiles: Profiles
    clock: Clock

    def put(self, member: str, document: Any) -> dict[str, Any]:
        """Set the fields that a document has, remove those that are null there, and return the profile.

        For example `{"name": "Ada", "picture": None, "country": "DE", "data": None}`.
        """
        check_member("id", member)
        return self.clock.retry(self.profiles.change, member, changes_of(document)).fields()

    def remove(self, member: str) -> None:
        """Remove a member's profile, if it has one."""
        check_member("id", member)
        self.clock.retry(self.profiles.remove, member)
