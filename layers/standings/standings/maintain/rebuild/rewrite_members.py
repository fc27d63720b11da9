"""Rewrites members of a board while others write them: registers them for a rebuild, or removes them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from standings.domain.members.member_item import Image
from standings.ports.errors import CancelReason, StoreRefusedError, StoreUnavailableError
from standings.ports.scores import Fence, ItemConflict, ReceiptConflict, Rewrite, Scores
from standings.runtime.retry import Clock, with_retry

MAX_TRIES: Final = 8  # Tries of a busy member, with some seconds of waiting in all, before the others go on
Chunk = list[Image]  # Members that are written in one transaction


class RewriteMembers:
    """Writes `change(image)` for members (None: leaves the member as it is), a chunk in each transaction.

    `done` are the members as they are then. `busy` are those that others kept writing through `MAX_TRIES`.
    StoreUnavailableError when the deadline comes before the end. FencedError once another task is that of the board.
    """

    def __init__(
        self,
        scores: Scores,
        clock: Clock,
        deadline: float,
        change: Callable[[Image], Image | None],
        fence: Fence | None = None,
    ) -> None:
        self._scores = scores
        self._fence = fence
        self._clock = clock
        self._backoff = clock.backoff(deadline)
        self._change = change
        self.done: list[Image] = []
        self.busy: list[Image] = []

    def run(self, chunks: Sequence[Chunk]) -> "RewriteMembers":
        """Rewrite all chunks. A member that met a conflict is tried again apart from the others, after a wait."""
        for tries in range(MAX_TRIES):
            if tries and chunks and not self._backoff.wait():
                raise too_busy()
            chunks = [again for chunk in chunks for again in self._try(chunk)]
        self.busy = [image for chunk in chunks for image in chunk]
        return self

    def _try(self, chunk: Chunk) -> list[Chunk]:
        """Write members in one transaction. Returns those to try again, in the chunks to try them in."""
        if len(chunk) == 1:  # others may have written the member while its try waited
            image = with_retry(partial(self._scores.image, (chunk[0].board, chunk[0].member)), self._backoff)
            chunk = chunk if image is None else [image]
        before: list[Image] = []
        changes: list[Rewrite] = []
        for image in chunk:
            after = None if image.removed else self._change(image)
            if after is None:
                self.done.append(image)
            else:
                before.append(image)
                changes.append(Rewrite(after, image.version))
        if not changes:
            return []
        if self._backoff.expired:
            raise too_busy()
        conflicts = with_retry(lambda: self._scores.apply([], changes, self._clock.now(), self._fence), self._backoff)
        if not conflicts:
            self.done += [rewrite.image for rewrite in changes]
            return []
        return self._split(before, conflicts)

    def _split(self, chunk: Chunk, conflicts: Sequence[ReceiptConflict | ItemConflict]) -> list[Chunk]:
        """The members that met a conflict, each alone, and the others together.

        If all of them did, as they do when the table is throttled, the chunk is halved.
        """
        others = dict(enumerate(chunk))
        met: list[Image] = []
        for conflict in conflicts:
            if conflict.reason is CancelReason.INVALID:
                raise StoreRefusedError(conflict.message)
            image = others.pop(conflict.position)
            if conflict.reason is CancelReason.BUSY:
                met.append(image)
            elif isinstance(conflict.found, Image):
                met.append(conflict.found)
            else:
                self.done.append(image)  # its item is gone
        if others:
            return [list(others.values()), *([image] for image in met)]
        middle = (len(met) + 1) // 2
        return [half for half in (met[:middle], met[middle:]) if half]


def too_busy() -> StoreUnavailableError:
    """The error of a job whose members others keep writing."""
    return StoreUnavailableError("others keep writing members of this board: try again later")
