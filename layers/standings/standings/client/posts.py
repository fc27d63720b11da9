"""Posts events: makes each from the caller's arguments, and sends them to the queue, up to ten at a time."""

import atexit
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from operator import itemgetter
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import orjson

from standings.client import values
from standings.client.errors import BadArgument, PostError, Unsent
from standings.domain.boards import Boards
from standings.domain.events import RefusedEvent, check_event, parse_event
from standings.ingest import posted
from standings.runtime.clock import RETRIED_FOR_S, Clock

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

    from standings.aws.sqs import OutgoingMessage

Number = int | float | Decimal
Event = Mapping[str, Any]


class Ready(NamedTuple):
    """An event with its id, and the message that it becomes."""

    event: Event
    message: "OutgoingMessage"


class Queue:
    """The queue of a stack. Threads may share it. `sqs`, `url` and `boards` are called when a first call needs them.

    An event that breaks a rule is refused before it is sent, and where the definitions are known, also one that they do
    not allow.
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
        from standings.aws.sqs import MAX_BODY_BYTES, message_of  # noqa: PLC0415 - AWS's packages take long

        try:
            event = _event_of(given)
            event = event if "id" in event else {"id": values.text("id", self._new_id()), **event}
            # orjson knows no decimals: this writes all their digits.
            body = orjson.dumps(event, default=lambda number: orjson.Fragment(str(number))).decode()
            ready = posted(body, event, now, MAX_BODY_BYTES)
            boards = self._boards()
            if boards is None:
                check_event(ready.body, now)
            else:
                parse_event(ready.body, boards, now, at_filled_in=ready.at_filled_in)
        except (BadArgument, RefusedEvent) as error:
            raise BadArgument(400, "bad-body", str(error)) from error
        return Ready(event, message_of(*ready))

    def send(self, events: Sequence[Ready]) -> None:
        """Send events, and again for five seconds what the queue does not take yet. Raises PostError."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as above

        from standings.aws.sqs import batches, send_until_taken  # noqa: PLC0415 - as above

        unsent: list[Unsent] = []
        backoff = self.clock.backoff_for(RETRIED_FOR_S)
        for batch in batches(events, itemgetter(1)):
            messages = [ready.message for ready in batch]
            try:
                reasons = send_until_taken(self._sqs(), self._url(), messages, lambda _: backoff.wait()).failed
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

        docs/reference/events.md has the fields; `metrics` is for a metric that is called like one of them. An
        event without `id` gets a new one, and without `at` the current time. Posted twice with one id, it counts once.

        Raises BadArgument if a field is wrong or the definitions do not allow it, and PostError if the queue did not
        take it. A batch sends with each tenth event, and at the end.
        """
        sets = None if set is False else set
        numbers = _together(metrics, amounts)
        given = {"id": id, "at": at, "board": board, "member": member, "metrics": numbers, "note": note, "set": sets}
        return self.post_event({k: v for k, v in {**given, "updates": updates}.items() if v is not None})

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
        """Take an event, and return its id. Sends all that wait if it is the tenth. Raises as `post` does."""
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


def _together(metrics: Any, named: Mapping[str, Number]) -> Any:
    """The amounts of `metrics` and those that are named. What is no mapping is refused with the other fields."""
    if metrics is None:
        return named or None
    if not isinstance(metrics, Mapping):
        return metrics
    for name in named:
        if name in metrics:
            raise BadArgument(400, "bad-body", f"metrics.{name}: is given twice")
    return {**metrics, **named}


def _event_of(given: Any, prefix: str = "") -> dict[str, Any]:
    """An event, or one of its updates, of Python's own types and decimals. BadArgument names a field that is wrong."""
    converts = _OF_EVENT if not prefix else _OF_UPDATE
    fields = values.mapping(prefix[:-1] or "event", given)
    return {name: converts.get(name, values.plain)(f"{prefix}{name}", value) for name, value in fields}


def _boards(field: str, value: Any) -> str | list[str]:
    if isinstance(value, str):
        return values.text(field, value)
    listed = values.listed(field, value, "a name or a list of names")
    return [values.text(f"{field}[{position}]", name) for position, name in enumerate(listed)]


def _metrics(field: str, value: Any) -> dict[str, Any]:
    return {name: values.number(f"{field}.{name}", amount) for name, amount in values.mapping(field, value)}


def _updates(field: str, value: Any) -> list[dict[str, Any]]:
    return [_event_of(one, f"{field}[{position}].") for position, one in enumerate(values.listed(field, value))]


_OF_UPDATE: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "board": _boards,
    "member": values.text,
    "metrics": _metrics,
    "set": values.flag,
}
_OF_EVENT: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    **_OF_UPDATE,
    "id": values.text,
    "at": values.instant,
    "updates": _updates,
}
