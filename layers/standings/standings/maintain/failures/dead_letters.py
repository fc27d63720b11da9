"""Lists the messages of the dead-letter queue, replays them after a fix, and deletes them."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from standings.domain.windows.calendar import instant
from standings.maintain.failures.selection import ALL, MAX_NAMES_SHOWN, MAX_SHOWN, REPLAYABLE_MS, Selection
from standings.ports.errors import StoreUnavailableError
from standings.ports.scores import REPLAYABLE_DAYS
from standings.runtime.retry import Clock, with_retry

if TYPE_CHECKING:
    from standings.aws.sqs.dead_letter_queue import DeadLetterQueue

MAX_REASONS: Final = 100
MAX_HELD: Final = 100_000  # Messages held at once; SQS allows 120,000 in flight
MAX_EXCERPT_LENGTH: Final = 200
EMPTY_ROUNDS: Final = 2  # Empty answers of the queue before it counts as empty
RELEASED_TOGETHER: Final = 100  # Messages that are released between two checks of the deadline
HOLD_MARGIN: Final = 30  # Seconds after a call's deadline when messages that it could not release show up again
RECEIVED_TOO_OFTEN: Final = "received too often"  # The reason of messages that SQS itself moved to the queue


class DeadLetter(NamedTuple):
    """A message of the dead-letter queue, as it was sent. Times are in milliseconds since 1970.

    `reason` is None if SQS itself moved the message. `kept_in` names the object that holds its body. `problem` says why
    it cannot be replayed. `handle`, `attributes` and `group` belong to the queue.
    """

    id: str
    handle: str
    body: str
    size: int
    reason: str | None
    first_received: int
    sent: int
    receives: int
    attributes: dict[str, Any]
    group: str | None = None
    kept_in: str | None = None
    problem: str | None = None


_Each = Callable[[Sequence[DeadLetter]], Collection[str]]
"""Handles a few messages; returns the ids of those that left the queue."""


class DeadLetterCare:
    """Lists, replays and deletes dead letters. Messages that stay are visible again when a call ends.

    All state is in the queue, so an interrupted call is simply repeated. A replay never counts an event twice: the
    event's receipt outlives every replay.
    """

    def __init__(self, queue: "DeadLetterQueue", clock: Clock) -> None:
        self._queue = queue
        self._clock = clock

    def list(self, deadline: float, *, chosen: Selection = ALL, limit: int = 100) -> dict[str, Any]:
        """Up to `limit` messages with their reasons, and the number of messages for each reason.

        `done` says whether the whole queue was read before the deadline (of the monotonic clock), `why` why not.
        """
        shown: list[dict[str, Any]] = []
        reasons: Counter[str] = Counter()

        def show(letters: Sequence[DeadLetter]) -> Collection[str]:
            for letter in letters:
                if _accepts(chosen, letter):
                    reasons[letter.reason or RECEIVED_TOO_OFTEN] += 1
                    if len(shown) < min(limit, MAX_SHOWN):
                        shown.append(self._shown(letter))
            return ()

        return {
            **self._each(show, deadline),
            "chosen": reasons.total(),
            "reasons": [{"reason": text, "messages": count} for text, count in reasons.most_common(MAX_REASONS)],
            "messages": shown,
        }

    def replay(self, deadline: float, *, chosen: Selection = ALL, cursor: int | None = None) -> dict[str, Any]:
        """Send messages to the activity queue again, bodies unchanged. Messages that are too old stay, and are named.

        `cursor` is that of the previous answer: messages that came to the queue since the first call stay.
        """
        began = self._clock.now() if cursor is None else cursor
        tally = dict.fromkeys(("replayed", "refused", "failed", "not_chosen", "newer"), 0)
        problems: list[dict[str, str]] = []

        def send(letters: Sequence[DeadLetter]) -> Collection[str]:
            ready = []
            for letter in letters:
                if not _accepts(chosen, letter):
                    tally["not_chosen"] += 1
                elif letter.sent > began:
                    tally["newer"] += 1
                elif (problem := self._problem(letter)) is not None:
                    tally["refused"] += 1
                    problems.append({"id": letter.id, "why": problem})
                else:
                    ready.append(letter)
            replayed = _succeeded(ready, self._queue.replay(ready), problems)
            tally["replayed"] += len(replayed)
            tally["failed"] += len(ready) - len(replayed)
            return replayed

        return {**self._each(send, deadline), "cursor": began, **tally, "problems": problems[:MAX_SHOWN]}

    def delete(self, deadline: float, *, ids: Collection[str]) -> dict[str, Any]:
        """Delete messages for good."""
        chosen = frozenset(ids)
        deleted: list[str] = []
        problems: list[dict[str, str]] = []

        def delete(letters: Sequence[DeadLetter]) -> Collection[str]:
            part = [letter for letter in letters if letter.id in chosen]
            gone = _succeeded(part, self._queue.delete(part), problems)
            deleted.extend(gone)
            return gone

        answer = self._each(delete, deadline, lambda: len(deleted) == len(chosen))
        return {**answer, "deleted": len(deleted), "problems": problems[:MAX_SHOWN]}

    def _each(self, do: _Each, deadline: float, enough: Callable[[], bool] = lambda: False) -> dict[str, Any]:
        """Call `do` with all messages of the queue, a few at a time, then release those that stay in it."""
        # Releasing takes time as well, if less than receiving.
        backoff = self._clock.backoff(deadline - (deadline - self._clock.monotonic()) / 4)
        held: list[str] = []
        seen = empty = 0
        why = None
        try:
            while empty < EMPTY_ROUNDS and not enough() and not backoff.expired and len(held) < MAX_HELD:
                hold = int(deadline - self._clock.monotonic()) + HOLD_MARGIN
                letters = with_retry(partial(self._queue.receive, hold), backoff)
                empty = 0 if letters else empty + 1
                seen += len(letters)
                gone = do(letters)
                held += [letter.handle for letter in letters if letter.id not in gone]
        except StoreUnavailableError as error:
            why = str(error)
        done = empty >= EMPTY_ROUNDS or enough()
        try:
            for first in range(0, len(held), RELEASED_TOGETHER):
                if self._clock.monotonic() >= deadline:
                    break  # the others show up again when their hold ends
                self._queue.release(held[first : first + RELEASED_TOGETHER])
        except StoreUnavailableError as error:
            why = f"some messages stay hidden for a while: {error}"
        return {"done": done, "seen": seen, "why": why}

    def _problem(self, letter: DeadLetter) -> str | None:
        if letter.problem is None and self._clock.now() - letter.first_received > REPLAYABLE_MS:
            return f"first received more than {REPLAYABLE_DAYS} days ago: it might count twice"
        return letter.problem

    def _shown(self, letter: DeadLetter) -> dict[str, Any]:
        return {
            "id": letter.id,
            "reason": letter.reason or RECEIVED_TOO_OFTEN,
            "event": next(iter(_named(letter.body, "id")), None),
            "boards": _named(letter.body, "board")[:MAX_NAMES_SHOWN],
            "members": _named(letter.body, "member")[:MAX_NAMES_SHOWN],
            "first_received": instant(letter.first_received),
            "sent": instant(letter.sent),
            "receives": letter.receives,
            "size": letter.size,
            "body": letter.body[:MAX_EXCERPT_LENGTH],
            "kept_in": letter.kept_in,
            "problem": self._problem(letter),
        }


def _accepts(chosen: Selection, letter: DeadLetter) -> bool:
    return chosen.accepts(letter.id, letter.reason or RECEIVED_TOO_OFTEN, _named(letter.body, "board"))


def _succeeded(
    letters: Sequence[DeadLetter], failed: dict[str, str], problems: list[dict[str, str]]
) -> Collection[str]:
    """The ids of messages that did not fail; the others are added to the problems."""
    problems.extend({"id": name, "why": why} for name, why in failed.items())
    return {letter.id for letter in letters} - failed.keys()


def _named(body: str, field: str) -> list[str]:
    """The texts of a field (or the texts in its list) in a message's body and its updates, as far as it can be read."""
    try:
        document = orjson.loads(body)
    except ValueError:
        return []
    if not isinstance(document, dict):
        return []
    updates = document.get("updates")
    parts = [document, *(updates if isinstance(updates, list) and field != "id" else [])]
    values = [part.get(field) for part in parts if isinstance(part, dict)]
    names = [name for value in values for name in (value if isinstance(value, list) else [value])]
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))
