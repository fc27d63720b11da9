"""Commits changes of one ranking, or of one rolling window, in groups, until all are done or the time is over.

And says from when on DynamoDB may delete what they write.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import call
from typing import Any, Final, NamedTuple

from standings.aws.dynamodb.tables import Item
from standings.domain.boards import Ranking
from standings.domain.coverage import ENDED_KEPT
from standings.domain.windows import SECOND
from standings.rankings import EXPIRY_MARGIN
from standings.runtime.clock import OUT_OF_TIME, Backoff
from standings.stores import CancelReason, StoreRefusedError, StoreUnavailableError

AT_ONCE: Final = 3  # How often changes are corrected and retried without waiting


@dataclass(slots=True)
class Outcome:
    """The result of the changes of one ranking, or of one rolling window.

    `failure` is the reason why some are not done, or a log is not folded; None if there is nothing left to do.
    `problem` needs somebody to look. `tried` is the ranking if a commit was tried, also one that had nothing left
    to do. `prunes` are the checks for empty tiers. `gaps` counts rows that were not where a record says (read
    repair).
    """

    done: list[Any] = field(default_factory=list)
    tried: Ranking | None = None
    prunes: "list[PruneResult]" = field(default_factory=list)
    moves: int = 0
    stale_moves: int = 0
    gaps: int = 0
    conflicts: int = 0
    refused: list[tuple[Any, str]] = field(default_factory=list)
    failure: str | None = None
    problem: str | None = None


class PruneResult(NamedTuple):
    """How many nodes one check removed, or why it failed; `unexpected` if no later check will succeed either."""

    removed: int = 0
    reason: str | None = None
    unexpected: bool = False


RunAll = Callable[[Sequence[Callable[[], Any]]], Iterable[Any]]
"""Runs jobs, in parallel or one after the other. An iteration waits for their results, and raises their errors."""

one_after_another: Final[RunAll] = partial(map, call)


class Conflict(NamedTuple):
    """A change that cancelled a commit, by position (None: a tier or a log), with the row that is there, if known."""

    position: int | None
    reason: CancelReason
    message: str
    item: Item | None = None


class Attempt(NamedTuple):
    """The result of trying one group: what is left of it, in groups, and the first conflict, if any.

    `is_busy`: others use the items. `is_fruitless`: the next try may go like this one.
    """

    left: Sequence[Any] = ()
    conflict: str = ""
    is_busy: bool = False
    is_fruitless: bool = False


def attempt_all(
    groups: Iterable[Sequence[Any]],
    attempt: Callable[[Sequence[Any]], Attempt],
    backoff: Backoff,
    stopped: Callable[[], bool],
    outcome: Outcome,
) -> None:
    """Try each group. Halve a group that the store refuses, and retry one while the store is unavailable."""
    waiting = deque(groups)
    fruitless = 0
    why = OUT_OF_TIME
    while waiting and outcome.failure is None:
        if stopped() or backoff.expired:
            outcome.failure = why
            break
        group = waiting.popleft()
        try:
            tried = attempt(group)
        except StoreUnavailableError as error:
            waiting.appendleft(group)
            why = str(error)
            if not backoff.wait(error.wait):
                outcome.failure = why
            continue
        except StoreRefusedError as error:
            if middle := len(group) // 2:
                waiting.extendleft((group[middle:], group[:middle]))
            else:
                outcome.refused.append((group[0], str(error)))
            continue
        why = OUT_OF_TIME
        waiting.extendleft(reversed(tried.left))
        fruitless = fruitless + 1 if tried.is_fruitless else 0
        if tried.conflict and (tried.is_busy or fruitless > AT_ONCE) and not backoff.wait():
            outcome.failure = tried.conflict


def expiry_of(until: int, board_ends: int | None) -> int:
    """From when on DynamoDB may delete an item, in seconds: at `until`, or soon after its board has ended (ms)."""
    return (until if board_ends is None else min(until, board_ends + ENDED_KEPT)) // SECOND


def expiry_of_read(read_until: int | None, board_ends: int | None) -> int | None:
    """The same of an item that is read until an instant (ms; None: always). None: it stays for ever."""
    if read_until is None:
        return None if board_ends is None else expiry_of(board_ends + ENDED_KEPT, board_ends)
    return expiry_of(read_until + EXPIRY_MARGIN, board_ends)
