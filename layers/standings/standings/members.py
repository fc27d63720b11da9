"""Changes that people make to members: their profiles, and whether a board lists, hides or removes them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from standings.aws.dynamodb.profiles import Profiles
from standings.aws.dynamodb.scores import Rewrite, Scores
from standings.catalog import BoardCatalog
from standings.domain.boards import check_member, family_of
from standings.domain.errors import being_deleted, no_such_member
from standings.domain.members import Image, new_image, registered, removed, rewritten
from standings.domain.profiles import changes_of
from standings.runtime.clock import RETRIED_FOR_S, Backoff, Clock
from standings.stores import StoreUnavailableError


class MemberAdmin:
    """Registers, hides and removes members. Only their items are written; rankings follow as after an event.

    An item is written on condition that nobody else has changed it. Raises RequestError, and StoreUnavailableError once
    the clock's retries are used up.
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
        records = backoff.retry(self._catalog.register, [board])
        if records[board].is_being_deleted:
            raise being_deleted(board)

        def put(image: Image | None, written_at_ms: int) -> Image:
            if image is None or image.removed:
                image = registered(family, image or new_image(board, member, written_at_ms))
            elif hidden in (None, image.hidden):
                return image
            return rewritten(image if hidden is None else replace(image, hidden=hidden), written_at_ms)

        return {"board": board, "member": member, "hidden": self._change(board, member, put, backoff).hidden}

    def remove(self, board: str, member: str) -> None:
        """Remove a member and its scores. Raises NotFoundError if the board has no such member.

        Its item keeps a version; if the member comes back, it starts above that.
        """
        family_of(self._catalog.boards, board)
        check_member("id", member)

        def remove(image: Image | None, _: int) -> Image:
            if image is None or image.removed:
                raise no_such_member(board, member)
            return removed(image, self._clock.now())

        self._change(board, member, remove, self._clock.backoff_for(RETRIED_FOR_S))

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


class ProfileAdmin:
    """Changes profiles; each change is one write. Boards and rankings hold no copy, so nothing else is written.

    Raises RequestError, and StoreUnavailableError once the clock's retries are used up.
    """

    def __init__(self, profiles: Profiles, clock: Clock) -> None:
        self._profiles = profiles
        self._clock = clock

    def put(self, member: str, document: Any) -> dict[str, Any]:
        """Set the fields that a document has, remove those that are null there, and return the profile.

        For example `{"name": "Ada", "picture": None, "country": "DE", "data": None}`.
        """
        check_member("id", member)
        return self._clock.retry(self._profiles.change, member, changes_of(document)).fields()

    def remove(self, member: str) -> None:
        """Remove a member's profile, if it has one."""
        check_member("id", member)
        self._clock.retry(self._profiles.remove, member)
