"""Registers, hides and removes members through their items: rankings follow as from any event."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from standings.catalog.board_catalog import BoardCatalog
from standings.domain.boards.names import check_member, family_of
from standings.domain.errors import no_such_member
from standings.domain.members.member_item import Image, new_image, registered, removed, rewritten
from standings.ports.errors import StoreUnavailableError
from standings.ports.scores import Rewrite, Scores
from standings.runtime.retry import READ_TIMEOUT_S, Backoff, Clock, with_retry


class MemberAdmin:
    """Changes members, on condition that each item is still the one that was seen; `Problem` for what cannot be."""

    def __init__(self, registry: BoardCatalog, scores: Scores, pacing: Clock) -> None:
        self._boards = registry.boards
        self._registry = registry
        self._scores = scores
        self._pacing = pacing

    def put(self, board: str, member: str, hidden: bool | None) -> dict[str, Any]:  # noqa: FBT001 - as the body has it
        """Register a member, unless it is there; hide it or bring it back, unless `hidden` is None."""
        family = family_of(self._boards, board)
        check_member("id", member)
        backoff = self._backoff()
        with_retry(lambda: self._registry.register([board]), backoff)

        def put(image: Image | None, written_at_ms: int) -> Image | None:
            there = image is not None and not image.removed
            before = image if image is not None else new_image(board, member, written_at_ms)
            if not there:
                before = registered(family, before)
            wanted = before.hidden if hidden is None else hidden
            return (
                None if there and before.hidden == wanted else rewritten(replace(before, hidden=wanted), written_at_ms)
            )

        image = self._change(board, member, put, backoff)
        return {"board": board, "member": member, "hidden": image.hidden}

    def remove(self, board: str, member: str) -> None:
        """Remove a member and its scores; what is left of it is a version, above which it may come back."""
        family_of(self._boards, board)
        check_member("id", member)

        def remove(image: Image | None, written_at_ms: int) -> Image:
            if image is None or image.removed:
                raise no_such_member(board, member)
            return removed(image, written_at_ms)

        self._change(board, member, remove, self._backoff())

    def _backoff(self) -> Backoff:
        return self._pacing.backoff_for(READ_TIMEOUT_S)

    def _change(
        self, board: str, member: str, change: Callable[[Image | None, int], Image | None], backoff: Backoff
    ) -> Image:
        """Write what `change` makes of the image and a stamp (None: nothing to write); what is there afterwards."""
        tried: Image | None = None
        while True:
            try:
                seen = self._scores.image((board, member))
                if tried is not None and seen == tried:
                    return tried  # the answer to an earlier try was lost
                now = self._pacing.now()
                after = change(seen, max(now, seen.written_at_ms) if seen is not None else now)
                if after is None:
                    if seen is None:
                        raise LookupError(member)
                    return seen
                tried = after
                rewrite = Rewrite(after, seen.version if seen is not None else None)
                if not (obstacles := self._scores.apply([], [rewrite], now)):
                    return after
                waited, why = backoff.wait(), obstacles[0].message
            except StoreUnavailableError as error:
                waited, why = backoff.wait(error.wait), str(error)
            if not waited:
                raise StoreUnavailableError(why)
