"""Posts events: makes each from the caller's arguments, and sends them to the queue, up to ten at a time."""

import atexit
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import orjson

from standings.client.errors import BadArgument, PostError, Unsent
from standings.domain.boards import Boards
from standings.domain.events import RefusedEvent, parse_event
from standings.ingest import posted
from standings.runtime.clock import RETRIED_FOR_S, Clock
from standings.stores import Posted

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

Number = int | float | Decimal
Event = Mapping[str, Any]


class Ready(NamedTuple):
    """An event with its id, and the message that it becomes."""

    event: Event
    posted: Posted


class Queue:
    """The queue of a stack. Threads may share it. `sqs`, `url` and `boards` are called when a first call needs them.

    Where the definitions are known, an event that they do not allow is refused before it is sent.
    """

    def __init__(
        self,
        sqs: Callable[[], "SQSClient"],
        url: Callable[[], str],
        boards: Callable[[], Boards | None],
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self._sqs = sqs
        self._url = url
        self._boards = boards
        self._new_id = new_id
        self.clock = clock

    def prepare(self, given: Event, now: int) -> Ready:
        """Make an event ready to be sent: with an id, and with `now` as its time if it has none. Raises BadArgument."""
        from standings.aws.sqs import MAX_BODY_BYTES  # noqa: PLC0415 - AWS's packages are imported when they are needed

        event = dict(given) if "id" in given else {"id": self._new_id(), **given}
        _check_numbers(event)
        try:
            ready = posted(orjson.dumps(event, default=_known).decode(), event, now, MAX_BODY_BYTES)
            boards = self._boards()
            if boards is not None:
                parse_event(ready.body, boards, now, at_filled_in=ready.at_filled_in)
        except RefusedEvent as error:
            raise _bad_event(str(error)) from error
        except TypeError as error:
            raise _bad_event(str(error.__cause__ or error)) from error
        return Ready(event, ready)

    def send(self, events: Sequence[Ready]) -> None:
        """Send events, and again for five seconds what the queue does not take yet. Raises PostError."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as above

        from standings.aws.sqs import batches, message_of, send_until_taken  # noqa: PLC0415 - as above

        unsent: list[Unsent] = []
        backoff = self.clock.backoff_for(RETRIED_FOR_S)
        for batch in batches(events, lambda one: message_of(one.posted)):
            messages = [message_of(one.posted) for one in batch]
            try:
                taken = send_until_taken(self._sqs(), self._url(), messages, lambda _: backoff.wait())
                reasons = {**taken.refused, **taken.untaken}
            except (BotoCoreError, ClientError) as error:
                reasons = dict.fromkeys(range(len(batch)), str(error))
            unsent += [Unsent(batch[position].event, reason) for position, reason in sorted(reasons.items())]
        if unsent:
            raise PostError(unsent, len(events))


class Poster(ABC):
    """Takes events: a client, or a batch."""

    def post(
        self,
        board: str | Sequence[str] | None = None,
        member: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the field's name
        at: datetime | str | None = None,
        note: Mapping[str, Any] | None = None,
        set: bool = False,  # noqa: A002 - the field's name
        updates: Sequence[Mapping[str, Any]] | None = None,
        metrics: Mapping[str, Number] | None = None,
        **amounts: Number,
    ) -> str:
        """Post one event, and return its id, such as `"5f0c…"`: `post("berlin-2026", "u123", points=3)`.

        The fields are those of docs/reference/events.md; `metrics` is for a metric that is called like one of them. An
        event without `id` gets a new one, and without `at` the current time. Posted twice with one id, it counts once.

        Raises BadArgument if the definitions do not allow it, and PostError if the queue did not take it. A batch sends
        with each tenth event, and at the end.
        """
        metrics = {**(metrics or {}), **amounts}
        return self.post_event(_event_of(board, member, id, at, note, set, updates, metrics))

    @abstractmethod
    def post_event(self, event: Event) -> str:
        """Post an event in the form of docs/reference/events.md, and return its id. Raises as `post` does."""


class Batch(Poster):
    """Events that are sent ten at a time, the last ones when the `with` ends, however it ends.

    Threads may share it. Of two events without a time, the later call has the later time.
    """

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._waiting: list[Ready] = []
        self._latest = 0
        self._lock = RLock()

    def __enter__(self) -> Self:
        # When the interpreter exits, a thread may still be inside its `with`.
        atexit.register(self.flush)
        return self

    def __exit__(self, *_: object) -> None:
        atexit.unregister(self.flush)
        self.flush()

    def post_event(self, event: Event) -> str:
        from standings.aws.sqs import MAX_ENTRIES  # noqa: PLC0415 - as above

        with self._lock:
            now = self._latest = max(self._queue.clock.now(), self._latest + 1)
            ready = self._queue.prepare(event, now)
            self._waiting.append(ready)
            if len(self._waiting) >= MAX_ENTRIES:
                self.flush()
        return str(ready.event["id"])

    def flush(self) -> None:
        """Send what waits. Raises PostError."""
        with self._lock:
            try:
                self._queue.send(self._waiting)
            except PostError:
                self._waiting = []
                raise
            # If anything else interrupts it, these events are sent again, and each counts once.
            self._waiting = []


def _event_of(
    board: str | Sequence[str] | None,
    member: str | None,
    event_id: str | None,
    at: datetime | str | None,
    note: Mapping[str, Any] | None,
    sets: bool,  # noqa: FBT001 - a field like the others
    updates: Sequence[Mapping[str, Any]] | None,
    metrics: Mapping[str, Number],
) -> Event:
    """An event with the fields that are given: `{"board": "berlin-2026", "member": "u1", "metrics": {"points": 3}}`."""
    if isinstance(at, datetime) and at.tzinfo is None:
        raise _bad_event(f"at: expected a time with its offset, such as datetime.now(UTC), got {at!r}")
    fields: dict[str, Any] = {
        "id": event_id,
        "at": at,
        "board": board if board is None or isinstance(board, str) else [*board],
        "member": member,
        "metrics": metrics or None,
        "note": note,
        "set": sets or None,
        "updates": updates,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _check_numbers(event: Event) -> None:
    """Refuse what is not a number in JSON. Otherwise only the writer would refuse it, after the call has returned."""
    for name, amount in _amounts(event):
        if isinstance(amount, bool) or not isinstance(amount, Number) or not math.isfinite(amount):
            raise _bad_event(f'metrics.{name}: expected a number such as 3 or Decimal("0.5"), got {amount!r}')


def _amounts(event: Event) -> Iterator[tuple[str, Any]]:
    updates = event.get("updates")
    for part in (event, *(updates if isinstance(updates, list | tuple) else ())):
        metrics = part.get("metrics") if isinstance(part, Mapping) else None
        yield from metrics.items() if isinstance(metrics, Mapping) else ()


def _known(value: Any) -> Any:
    """Convert a value for orjson, which knows neither decimals nor mappings. A decimal keeps its digits."""
    if isinstance(value, Decimal):
        return orjson.Fragment(f"{value:f}")
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"expected what JSON can hold, got {type(value).__name__}")


def _bad_event(detail: str) -> BadArgument:
    return BadArgument(400, "bad-body", detail)
