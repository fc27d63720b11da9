"""Accepts events that are posted over HTTP: checks each by itself, and puts the good ones on the queue."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from standings.domain.boards.definitions import Boards
from standings.domain.boards.names import BOARD_NAME
from standings.domain.events.event import RefusedEvent
from standings.domain.events.event_rules import parse_event
from standings.domain.events.instants import instant
from standings.ingest.json_list import Document, parse_documents
from standings.runtime.retry import Clock

MAX_ID_SHOWN: Final = 1_000


class Posted(NamedTuple):
    """An event for the queue. `at_filled_in`: we added its `at`. `board`: the first board it names, if valid."""

    body: str
    at_filled_in: bool
    board: str | None


@dataclass(frozen=True, slots=True)
class Posting:
    """Posts events as the client wrote them, so that no number is rounded. Passes bugs of ours to `report`.

    `send` puts events on the queue; it returns the reason for each event that it did not accept, by position.
    """

    boards: Boards
    send: Callable[[Sequence[Posted]], dict[int, str]]
    most_bytes: int
    pacing: Clock
    report: Callable[[Exception], None]

    def post(self, body: bytes) -> list[dict[str, Any]]:
        """Post a body's events and return a result for each, in order. Raises RequestError for any other body."""
        documents = parse_documents(body)
        now = self.pacing.now()
        refused: dict[int, str] = {}
        events: dict[int, Posted] = {}
        for number, (text, value) in enumerate(documents):
            try:
                event = posted(text, value, now, self.most_bytes)
                parse_event(event.body, self.boards, now, at_filled_in=event.at_filled_in)
                events[number] = event
            except RefusedEvent as refusal:
                refused[number] = str(refusal)
            except Exception as error:  # noqa: BLE001 - a body that breaks the parser must not stop the others
                refused[number] = f"body: cannot be read: {error!r}"
                self.report(error)
        numbers = list(events)
        for position, reason in self.send(list(events.values())).items():
            # If only the answer was lost, the event is on the queue: with the same id it still counts once.
            refused[numbers[position]] = f"the queue did not take it, post it again with the same id: {reason}"
        return [_result(document, refused.get(number)) for number, document in enumerate(documents)]


def posted(text: str, value: Any, now: int, most_bytes: int) -> Posted:
    """Prepare a text with its parsed value for the queue: `at` defaults to `now`. RefusedEvent if it is too large."""
    filled_in = isinstance(value, dict) and bool(value) and "at" not in value
    if filled_in:
        text = f'{{"at":"{instant(now)}",{text[1:]}'
    # JSON has these two characters, SQS does not.
    text = text.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
    if (size := len(text.encode())) > most_bytes:
        raise RefusedEvent("size", f"body: expected at most {most_bytes} bytes, got {size}")
    return Posted(text, filled_in, _first_board(value))


def _first_board(value: Any) -> str | None:
    try:
        board = value["updates"][0]["board"] if "updates" in value else value["board"]
        first = board[0] if isinstance(board, list) else board
    except (LookupError, TypeError):
        return None
    return first if isinstance(first, str) and BOARD_NAME.fullmatch(first) else None


def _result(document: Document, refusal: str | None) -> dict[str, Any]:
    event_id = document.value.get("id") if isinstance(document.value, dict) else None
    return {
        # A longer id was refused. Cut it, or a hundred of them would make the answer too large.
        "id": event_id[:MAX_ID_SHOWN] if isinstance(event_id, str) else None,
        "status": "queued" if refusal is None else "refused",
        "detail": refusal,
    }
