"""Posts events: makes each from the caller's arguments, and sends them to the queue, alone or many at a time."""

import atexit
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, overload

import orjson

from standings.client import values
from standings.client.decimals import Decimals, has_too_many_digits
from standings.client.errors import BadArgument, PostError, Unsent
from standings.client.progress import Progress
from standings.domain.boards import Boards
from standings.domain.events import RefusedEvent, check_event, parse_event
from standings.ingest import posted
from standings.runtime.clock import RETRIED_FOR_S, Clock

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

    from standings.aws.sqs import OutgoingMessage, Taken
    from standings.client import answer_types

Number = int | float | Decimal
Event = Mapping[str, Any]


class Ready(NamedTuple):
    """An event with its id, and the message that it becomes."""

    event: Event
    message: "OutgoingMessage"


@dataclass(frozen=True)
class Queue:
    """The queue of a stack, for threads to share. Events that break a rule or a known definition are refused first."""

    sqs: Callable[[], "SQSClient"]
    url: Callable[[], str]
    boards: Callable[[], Boards | None]
    clock: Clock
    new_id: Callable[[], str]
    decimals: Decimals

    def prepare(self, given: Event, now: int, *, rounds: bool = False, history: bool = False) -> Ready:
        """Make an event ready to be sent, with an id and a time, by default `now` (ms). Raises BadArgument."""
        from standings.aws.sqs import MAX_BODY_BYTES, message_of  # noqa: PLC0415 - AWS's packages take long

        try:
            event = _event_of(given)
            event = self.decimals.rounded(event) if rounds else event
            event = event if "id" in event else {"id": values.text("id", self.new_id()), **event}
            ready = posted(json_of(event).decode(), event, now, MAX_BODY_BYTES)
            boards = self.boards()
            if boards is None:
                check_event(ready.body, now)
            else:
                parse_event(ready.body, boards, now, at_filled_in=ready.at_filled_in)
        except (BadArgument, RefusedEvent) as error:
            hint = "; round=True rounds it to the decimals of the metric" if has_too_many_digits(error) else ""
            raise BadArgument(400, "bad-body", f"{error}{hint}") from None
        return Ready(event, message_of(ready._replace(history=history)))

    def send(self, messages: Sequence["OutgoingMessage"]) -> "Taken":
        """Send up to ten messages, for five seconds. Returns what the queue never takes, and has not taken."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as above

        from standings.aws.sqs import Taken, send_until_taken  # noqa: PLC0415 - as above

        backoff = self.clock.backoff_for(RETRIED_FOR_S)
        try:
            return send_until_taken(self.sqs(), self.url(), messages, lambda _: backoff.wait())
        except (BotoCoreError, ClientError) as error:
            return Taken({}, dict.fromkeys(range(len(messages)), str(error)))


def json_of(event: Event) -> bytes:
    """An event as JSON. orjson knows no decimals: this writes all their digits."""
    return orjson.dumps(event, default=lambda number: orjson.Fragment(str(number)))


def members_of(event: Event) -> frozenset[str]:
    """The members that a checked event changes: `{"u123", "clan#7"}`; none if it takes back another one."""
    return frozenset(part["member"] for part in event.get("updates", (event,)) if "member" in part)


class Poster(ABC):
    """Takes events: a client, or a batch."""

    @overload
    def post(
        self,
        /,
        board: str | Sequence[str] | None = None,
        member: str | None = None,
        *,
        id: str | None = None,
        at: datetime | str | None = None,
        note: Mapping[str, Any] | None = None,
        set: bool = False,
        round: bool = False,
        history: bool = False,
        updates: Sequence[Mapping[str, Any]] | None = None,
        metrics: Mapping[str, Number] | None = None,
        wait: None = None,
        **amounts: Number,
    ) -> str: ...
    @overload
    def post(
        self,
        /,
        board: str | Sequence[str] | None = None,
        member: str | None = None,
        *,
        id: str | None = None,
        at: datetime | str | None = None,
        note: Mapping[str, Any] | None = None,
        set: bool = False,
        round: bool = False,
        history: bool = False,
        updates: Sequence[Mapping[str, Any]] | None = None,
        metrics: Mapping[str, Number] | None = None,
        wait: int,
        **amounts: Number,
    ) -> "Followed": ...
    def post(
        self,
        /,
        board: str | Sequence[str] | None = None,
        member: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the field's name
        at: datetime | str | None = None,
        note: Mapping[str, Any] | None = None,
        set: bool = False,  # noqa: A002 - the field's name
        round: bool = False,  # noqa: A002 - the word that people look for
        history: bool = False,
        updates: Sequence[Mapping[str, Any]] | None = None,
        metrics: Mapping[str, Number] | None = None,
        wait: int | None = None,
        **amounts: Number,
    ) -> "str | Followed":
        """Post one event, and return its id, such as `"5f0c…"`: `post("berlin-2026", "u123", points=3)`.

        docs/reference/events.md has the fields; `metrics` is for a metric that is called like one of these arguments.
        An event without `id` gets a new one, and without `at` the current time. Posted twice with one id, it counts
        once. `round=True` rounds numbers to the decimals that their metric keeps: 0.1 + 0.2 counts 0.3. With
        `history=True` it also counts in periods that have closed: docs/how-to/bring-your-history.md. With `wait`,
        seconds from 1 to 10, a client posts to the API, and returns a `Followed` once the event counts and every rank
        of its members follows. A batch cannot wait: it sends meanwhile, and what is left at its end.

        Raises BadArgument if a field is wrong or not as the definitions allow, PostError if the queue did not take it.
        """
        numbers, sets = _together(metrics, amounts), None if set is False else set
        event = _given(id=id, at=at, board=board, member=member, metrics=numbers, note=note, set=sets, updates=updates)
        if wait is None:
            return self.post_event(event, round=round, history=history)
        return self._post_and_wait(event, wait, rounds=round, history=history)

    def correct(
        self,
        /,
        event_id: str,
        board: str | Sequence[str] | None = None,
        member: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the field's name
        at: datetime | str | None = None,
        updates: Sequence[Mapping[str, Any]] | None = None,
        metrics: Mapping[str, Number] | None = None,
        **amounts: Number,
    ) -> str:
        """Replace what an event counted, and return the correction's id: `correct("a200", "club", "ada", km=12.5)`.

        Without `at` it stays at the time of the event. A correction sent twice with one id counts once. Raises as
        `post` does. Whether it counted, `event` says of its id: docs/how-to/correct-a-score.md.
        """
        given = {"at": at, "board": board, "member": member, "metrics": _together(metrics, amounts), "updates": updates}
        return self.post_event(_given(id=id, correct=values.event_id("event_id", event_id), **given))

    def retract(self, event_id: str, *, id: str | None = None) -> str:  # noqa: A002 - the field's name
        """Take back what an event counted, and return the retraction's id. Raises as `post` does."""
        return self.post_event(_given(id=id, retract=values.event_id("event_id", event_id)))

    @abstractmethod
    def post_event(self, event: Event, *, round: bool = False, history: bool = False) -> str:  # noqa: A002 - as above
        """Post an event in the form of docs/reference/events.md, and return its id. Raises as `post` does."""

    @abstractmethod
    def _post_and_wait(self, _event: Event, _wait: int, /, *, rounds: bool, history: bool) -> "Followed": ...


class Followed(NamedTuple):
    """An event that was posted with `wait`: its id, and its members' scores with ranks; None if they come later."""

    id: str
    members: "list[answer_types.MemberScores] | None"


MOST_AHEAD_MS: Final = 60_000  # Events that are posted without a time may be so far ahead: far less than five minutes


class Batch(Poster):
    """Events that are sent ten with each request, several requests at a time, the last ones when the `with` ends.

    Threads may share it. Of two events without a time, the later call has the later time. A member's stay in order.
    """

    def __init__(self, queue: Queue, progress: Progress | None) -> None:
        from standings.client.sending import Sending  # noqa: PLC0415 - as above

        self._queue = queue
        self._progress = progress
        self._sending: Sending[Event] = Sending(self._send)
        self._latest = 0
        self._unsent: list[Unsent] = []
        self._told = 0
        self._silent: str | None = None  # Why the queue takes nothing
        self._lock = RLock()

    def __enter__(self) -> Self:
        # When the interpreter exits, a thread may still be inside its `with`.
        atexit.register(self.flush)
        return self

    def __exit__(self, *_: object) -> None:
        atexit.unregister(self.flush)
        try:
            self.flush()
        finally:
            self._sending.end()
            if self._progress is not None:
                self._progress.end()

    def post_event(self, event: Event, *, round: bool = False, history: bool = False) -> str:  # noqa: A002 - as above
        """Take an event, and return its id. If many wait to be sent, wait until they are fewer.

        Raises as `post` does, for events of earlier calls too: this one was taken all the same, and will be sent.
        """
        flags = {"rounds": values.flag("round", round), "history": values.flag("history", history)}
        with self._lock:
            now = self._queue.clock.now()
            has_time = isinstance(event, Mapping) and "at" in event
            at = now if has_time else max(now, self._latest + 1)
            ready = self._queue.prepare(event, at, **flags)
            self._latest = max(self._latest, at)
            self._sending.put(ready.event, ready.message, members_of(ready.event))
        if at - now > MOST_AHEAD_MS:
            self._queue.clock.sleep((at - now - MOST_AHEAD_MS) / 1000)
        self._tell(until_sent=False)
        return str(ready.event["id"])

    def _post_and_wait(self, _event: Event, _wait: int, /, **_: bool) -> Followed:
        raise BadArgument(400, "bad-argument", "wait: a batch cannot wait for ranks: post the event by the client")

    def flush(self) -> None:
        """Send what waits. Raises PostError."""
        self._tell(until_sent=True)

    def _send(self, messages: Sequence["OutgoingMessage"]) -> dict[int, str]:
        if self._silent is not None:
            return dict.fromkeys(range(len(messages)), self._silent)
        taken = self._queue.send(messages)
        # If the queue takes nothing, each further request would take five seconds too. `_tell` lets it be tried again.
        self._silent = taken.untaken[0] if len(taken.untaken) == len(messages) else None
        return taken.failed

    def _tell(self, *, until_sent: bool) -> None:
        """Raise PostError for what the queue did not take, in the order of the calls, each once."""
        for found in self._sending.results(until_sent=until_sent):
            with self._lock:
                self._told += len(found)
                self._unsent += [Unsent(event, reason) for event, reason in found if reason is not None]
                if self._progress is not None:
                    self._progress.more(len(found))
        with self._lock:
            unsent, told = self._unsent, self._told
            if not unsent:
                return
            self._unsent, self._told, self._silent = [], 0, None
        raise PostError(unsent, told)


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


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
    "correct": values.text,
    "retract": values.text,
    "at": values.instant,
    "updates": _updates,
}
