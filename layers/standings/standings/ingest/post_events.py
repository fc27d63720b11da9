"""Takes events that are posted over HTTP: each is looked at by itself, and what can be counted goes on the queue."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from standings.domain.boards.definitions import Boards
from standings.domain.boards.names import BOARD_NAME
from standings.domain.events.event import RefusedEvent
from standings.domain.events.event_rules import parse_event
from standings.domain.events.instants import instant
from standings.ingest.json_list import Document, parse_documents
from standings.runtime.retry import Clock

MAX_ID_SHOWN: Final = 1_000


class Posted(NamedTuple):
    """An event on its way to the queue; `at_filled_in` where its `at` is not its producer's.

    `board` is the first that it names, if that is a board's name.
    """

    body: str
    at_filled_in: bool
    board: str | None


class EventQueue(Protocol):
    """The queue of events."""

    @property
    def most_bytes(self) -> int:
        """The bytes of UTF-8 that an event may have."""

    def send(self, events: Sequence[Posted]) -> dict[int, str]:
        """Put events on the queue. Returns why by position for those that it did not take."""


class Posting:
    """Posts events. What the queue gets is a client's own text, so that no amount is rounded before it is looked at.

    `report` is called with each bug of ours that an event is refused for.
    """

    def __init__(self, boards: Boards, queue: EventQueue, pacing: Clock, report: Callable[[Exception], None]) -> None:
        self._boards = boards
        self._queue = queue
        self._pacing = pacing
        self._report = report

    def post(self, body: bytes) -> list[dict[str, Any]]:
        """What became of each event, in their order; Problem for a body that is no event and no list of events."""
        documents = parse_documents(body)
        now = self._pacing.now()
        refused: dict[int, str] = {}
        events: dict[int, Posted] = {}
        for number, document in enumerate(documents):
            try:
                events[number] = self._event(document, now)
            except RefusedEvent as refusal:
                refused[number] = str(refusal)
            except Exception as error:  # noqa: BLE001 - whatever a body does to the parser, its neighbours are queued
                refused[number] = f"body: cannot be read: {error!r}"
                self._report(error)
        numbers = list(events)
        for position, why in self._queue.send(list(events.values())).items():
            # It may be on the queue all the same, if only the answer was lost: then the same id is what keeps it one.
            refused[numbers[position]] = f"the queue did not take it, post it again with the same id: {why}"
        return [_result(document, refused.get(number)) for number, document in enumerate(documents)]

    def _event(self, document: Document, now: int) -> Posted:
        event = posted(*document, now, self._queue.most_bytes)
        parse_event(event.body, self._boards, now, at_filled_in=event.at_filled_in)
        return event


def posted(text: str, said: Any, now: int, most_bytes: int) -> Posted:
    """An event, of which `said` is what its JSON says, as a queue takes it: with an `at`, which may be `now`.

    Raises RefusedEvent for one that is too large.
    """
    filled_in = isinstance(said, dict) and bool(said) and "at" not in said
    if filled_in:
        text = f'{{"at":"{instant(now)}",{text[1:]}'
    # The two characters of UTF-8 that JSON has and SQS has not.
    text = text.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
    size = len(text.encode())
    if size > most_bytes:
        raise RefusedEvent("size", f"body: has {size} bytes, the queue takes {most_bytes} at most")
    return Posted(text, filled_in, _board(said))


def _board(said: Any) -> str | None:
    """The board that an event names first, if that is a board's name."""
    try:
        named = said["updates"][0]["board"] if "updates" in said else said["board"]
        first = named[0] if isinstance(named, list) else named
    except (LookupError, TypeError):
        return None
    return first if isinstance(first, str) and BOARD_NAME.fullmatch(first) else None


def _result(document: Document, refusal: str | None) -> dict[str, Any]:
    event_id = document.said.get("id") if isinstance(document.said, dict) else None
    return {
        # One that is longer was refused: shown whole, a hundred of them could make an answer that is none.
        "id": event_id[:MAX_ID_SHOWN] if isinstance(event_id, str) else None,
        "status": "queued" if refusal is None else "refused",
        "detail": refusal,
    }
