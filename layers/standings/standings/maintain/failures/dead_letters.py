"""Shows the messages of the dead-letter queue, replays them after a fix, and deletes them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

import orjson

from standings.domain.events.instants import instant
from standings.domain.windows.calendar import DAY
from standings.maintain.task_arguments import Arguments, task_of, texts
from standings.ports.errors import StoreUnavailableError
from standings.ports.scores import REPLAYABLE_DAYS
from standings.runtime.retry import Clock, with_retry

MAX_SHOWN: Final = 1_000
MAX_REASONS: Final = 100
MAX_HELD: Final = 100_000
"""Messages that are held at once; SQS lets a queue have 120,000 of them."""

MAX_EXCERPT_LENGTH: Final = 200
MAX_BOARDS_SHOWN: Final = 10
EMPTY_ROUNDS: Final = 2
"""Times that the queue has nothing to give before it counts as empty."""

HANDED_BACK: Final = 100
"""Messages that are given back between two looks at the clock."""

HOLD_MARGIN: Final = 30
"""Seconds after a call's deadline when messages show themselves again that it could not give back."""

RECEIVED_TOO_OFTEN: Final = "received too often"
"""The reason of what SQS itself has moved to the queue."""


class DeadLetter(NamedTuple):
    """A message of the dead-letter queue, as it was sent; times in milliseconds since 1970.

    `reason` is None where SQS itself moved it here. `kept_in` names the object that holds its body, `problem` says why
    it cannot be replayed. `handle`, `attributes` and `group` are the queue's own.
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


TASKS: Final[Mapping[str, Arguments]] = {
    "list": {"ids": list, "reason": str, "board": str, "limit": int},
    "replay": {"ids": list, "reason": str, "board": str, "cursor": int},
    "delete": {"ids": list},
}


class DeadLetterSource(Protocol):
    """The dead-letter queue. All of it may raise StoreUnavailableError."""

    def receive(self, hold: int) -> list[DeadLetter]:
        """A few messages, which nobody else gets for `hold` seconds; none where there seem to be none."""

    def replay(self, letters: Sequence[DeadLetter]) -> dict[str, str]:
        """Put messages on the queue of events, then take them off this one. Returns why by id for those left."""

    def delete(self, letters: Sequence[DeadLetter]) -> dict[str, str]:
        """Take messages off the queue. Returns why by id for those left."""

    def release(self, handles: Sequence[str]) -> None:
        """Let others get messages again at once."""


class DeadLetterFilter(NamedTuple):
    """Which messages: those of some ids, of a text within the reason, of a board; of all that is given."""

    ids: frozenset[str] | None = None
    reason: str | None = None
    board: str | None = None

    def has(self, letter: DeadLetter) -> bool:
        """Whether a message is one of them."""
        return (
            (self.ids is None or letter.id in self.ids)
            and (self.reason is None or self.reason in (letter.reason or RECEIVED_TOO_OFTEN))
            and (self.board is None or self.board in _said(letter.body).boards)
        )


ALL: Final = DeadLetterFilter()


class DeadLetterCare:
    """Looks through the dead-letter queue. What it does not take away is there again when a call ends.

    All state is the queue's, so whatever is broken off is done by calling again. Nothing counts twice by a replay: the
    receipt of an event outlives every replay of it.
    """

    def __init__(self, queue: DeadLetterSource, pacing: Clock) -> None:
        self._queue = queue
        self._pacing = pacing

    def do(self, asked: Any, deadline: float) -> dict[str, Any]:
        """One of `TASKS` as it is asked for, with its arguments; ValueError says what is wrong with them."""
        task, given = task_of(asked, TASKS)
        if task == "delete" and "ids" not in given:
            raise ValueError("delete: ids is missing: say which messages")
        ids = texts("ids", given.pop("ids")) if "ids" in given else None
        if task == "delete":
            return self.delete(deadline, ids=ids or frozenset())
        chosen = DeadLetterFilter(ids, given.pop("reason", None), given.pop("board", None))
        do = self.list if task == "list" else self.replay
        return do(deadline, chosen=chosen, **given)

    def list(self, deadline: float, *, chosen: DeadLetterFilter = ALL, limit: int = 100) -> dict[str, Any]:
        """Messages with their reasons, up to `limit` of them, and how many there are for each reason.

        `done` says whether all of the queue was seen before the deadline (of the monotonic clock), `why` why not.
        """
        shown: list[dict[str, Any]] = []
        reasons: Counter[str] = Counter()

        def look(letters: Sequence[DeadLetter]) -> Sequence[DeadLetter]:
            for letter in letters:
                if chosen.has(letter):
                    reasons[letter.reason or RECEIVED_TOO_OFTEN] += 1
                    if len(shown) < min(limit, MAX_SHOWN):
                        shown.append(self._shown(letter))
            return letters

        return {
            **self._through(look, deadline),
            "chosen": reasons.total(),
            "reasons": [{"reason": reason, "messages": count} for reason, count in reasons.most_common(MAX_REASONS)],
            "messages": shown,
        }

    def replay(self, deadline: float, *, chosen: DeadLetterFilter = ALL, cursor: int | None = None) -> dict[str, Any]:
        """Send messages to be applied again, their bodies unchanged.

        One that is too old, so that it might count twice, is left and reported. `cursor` is that of the answer to the
        call that began it: what came to the queue since, perhaps by this very replay, is left for another.
        """
        began = self._pacing.now() if cursor is None else cursor
        tally: Counter[str] = Counter()
        problems: list[dict[str, str]] = []

        def send(letters: Sequence[DeadLetter]) -> Sequence[DeadLetter]:
            ready = []
            for letter in letters:
                if not chosen.has(letter):
                    tally["not_chosen"] += 1
                elif letter.sent > began:
                    tally["newer"] += 1
                elif (problem := self._problem(letter)) is not None:
                    tally["refused"] += 1
                    problems.append({"id": letter.id, "why": problem})
                else:
                    ready.append(letter)
            failed = self._queue.replay(ready)
            tally["replayed"] += len(ready) - len(failed)
            tally["failed"] += len(failed)
            problems.extend({"id": name, "why": why} for name, why in failed.items())
            return [letter for letter in letters if letter not in ready or letter.id in failed]

        return {
            **self._through(send, deadline),
            "cursor": began,
            **{what: tally[what] for what in ("replayed", "refused", "failed", "not_chosen", "newer")},
            "problems": problems[:MAX_SHOWN],
        }

    def delete(self, deadline: float, *, ids: frozenset[str]) -> dict[str, Any]:
        """Throw messages away for good."""
        chosen = DeadLetterFilter(ids)
        tally: Counter[str] = Counter()
        problems: list[dict[str, str]] = []

        def throw(letters: Sequence[DeadLetter]) -> Sequence[DeadLetter]:
            found = [letter for letter in letters if chosen.has(letter)]
            failed = self._queue.delete(found)
            tally["deleted"] += len(found) - len(failed)
            problems.extend({"id": name, "why": why} for name, why in failed.items())
            return [letter for letter in letters if letter not in found or letter.id in failed]

        through = self._through(throw, deadline, lambda: tally["deleted"] == len(ids))
        return {**through, "deleted": tally["deleted"], "problems": problems[:MAX_SHOWN]}

    def _through(
        self,
        do: Callable[[Sequence[DeadLetter]], Sequence[DeadLetter]],
        deadline: float,
        enough: Callable[[], bool] = lambda: False,
    ) -> dict[str, Any]:
        """Do something with the messages of the queue, each once: `do` gives back those that are to stay in it.

        Whether there were no more, how many there were, and what kept it from going on.
        """
        # Giving back takes time as well, if less than receiving has taken.
        backoff = self._pacing.backoff(deadline - (deadline - self._pacing.monotonic()) / 4)
        held: list[str] = []
        seen = empty = 0
        why = None
        try:
            while empty < EMPTY_ROUNDS and not enough() and not backoff.expired and len(held) < MAX_HELD:
                hold = int(deadline - self._pacing.monotonic()) + HOLD_MARGIN
                letters = with_retry(partial(self._queue.receive, hold), backoff)
                empty = 0 if letters else empty + 1
                seen += len(letters)
                held += [letter.handle for letter in do(letters)]
        except StoreUnavailableError as error:
            why = str(error)
        done = empty >= EMPTY_ROUNDS or enough()
        try:
            for first in range(0, len(held), HANDED_BACK):
                if self._pacing.monotonic() >= deadline:
                    break  # the rest shows itself again when its hold ends
                self._queue.release(held[first : first + HANDED_BACK])
        except StoreUnavailableError as error:
            why = f"some messages show themselves again only in a while: {error}"
        return {"done": done, "seen": seen, "why": why}

    def _problem(self, letter: DeadLetter) -> str | None:
        if letter.problem is not None:
            return letter.problem
        if self._pacing.now() - letter.first_received > REPLAYABLE_DAYS * DAY:
            return f"first received more than {REPLAYABLE_DAYS} days ago: it might count twice"
        return None

    def _shown(self, letter: DeadLetter) -> dict[str, Any]:
        said = _said(letter.body)
        return {
            "id": letter.id,
            "reason": letter.reason or RECEIVED_TOO_OFTEN,
            "event": said.id,
            "boards": said.boards[:MAX_BOARDS_SHOWN],
            "members": said.members[:MAX_BOARDS_SHOWN],
            "first_received": instant(letter.first_received),
            "sent": instant(letter.sent),
            "receives": letter.receives,
            "size": letter.size,
            "body": letter.body[:MAX_EXCERPT_LENGTH],
            "kept_in": letter.kept_in,
            "problem": self._problem(letter),
        }


class _Said(NamedTuple):
    """What a body tells of its event, if it does."""

    id: str | None
    boards: Sequence[str]
    members: Sequence[str]


def _said(body: str) -> _Said:
    try:
        document = orjson.loads(body)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        return _Said(None, (), ())
    updates = document.get("updates")
    parts: list[Mapping[str, Any]] = [document]
    parts += [update for update in updates if isinstance(update, dict)] if isinstance(updates, list) else []
    boards = [name for part in parts for name in _texts(part.get("board"))]
    members = [name for part in parts for name in _texts(part.get("member"))]
    return _Said(
        next(iter(_texts(document.get("id"))), None), list(dict.fromkeys(boards)), list(dict.fromkeys(members))
    )


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, str)]
