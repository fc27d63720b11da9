"""Accepts events that are posted over HTTP: checks each by itself, and puts the good ones on the queue.

Says afterwards what became of an event.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from standings.authorization import check_no_corrections, check_posts
from standings.calls import ADMIN
from standings.domain.boards import BOARD_NAME, Boards, family_of
from standings.domain.corrections import counts_more, decode_content
from standings.domain.errors import InvalidBodyError, NotFoundError, NotYourMemberError, bad_argument
from standings.domain.events import (
    MAX_ID_LENGTH,
    OTHER_COUNTS,
    WITHOUT_HISTORY,
    Event,
    RefusedEvent,
    expired_board,
    is_event_id,
    no_constant,
    other_content,
    parse_event,
    shown,
)
from standings.domain.late_events import late_windows
from standings.domain.members import Counted, EventPart, History, counts_again, may_count_again
from standings.domain.windows import instant
from standings.runtime.clock import RETRIED_FOR_S, Backoff, Clock
from standings.stores import Posted, StoreUnavailableError

if TYPE_CHECKING:
    from standings.aws.dynamodb.scores import BoardRecords, Receipt, Scores
    from standings.aws.sqs import Taken
    from standings.domain.coverage import BoardRecord
    from standings.domain.members import Image
    from standings.stores import MemberKey


class CheckedEvents(NamedTuple):
    """The events of a body: a result for each, in order, and by number those that break no rule, as they are posted.

    `CheckedEvents([{"id": "0197f2c4", "status": "refused", "detail": "size: …"}], {}, history=False, is_admin=True)`
    """

    results: list[dict[str, Any]]
    events: dict[int, tuple[Posted, Event]]
    history: bool
    is_admin: bool


class CountedEvents(NamedTuple):
    """What says which events have counted: `CountedEvents(scores, records)`."""

    scores: "Scores"
    records: "BoardRecords"


@dataclass(frozen=True, slots=True)
class Posting:
    """Posts events as the client wrote them, so that no number is rounded. Passes internal errors to `report`.

    `send` puts events on the queue; it returns those that the queue refused, and those of which it did not say.
    """

    boards: Boards
    send: Callable[[Sequence[Posted]], "Taken"]
    most_bytes: int
    clock: Clock
    report: Callable[[Exception], None]

    def check(
        self, body: bytes, own: str | None = None, *, is_admin: bool = True, history: bool = False
    ) -> "CheckedEvents":
        """Check each event of a body by itself. Raises RequestError for a body that holds no events.

        `own` is the only member that the caller may post for: if any event names another, RequestError is raised. So it
        is if one is a correction, unless the caller `is_admin`.
        With `history`, which also needs an administrator, they count in periods that have closed too.
        Of events without `at`, the first counts now, and each next one a millisecond later: a list keeps its order.
        """
        documents = parse_documents(body)
        if not is_admin:
            check_no_corrections([value for _, value in documents])
        if own is not None:
            check_posts([value for _, value in documents], own)
        now, checked = self.clock.now(), CheckedEvents([], {}, history, is_admin)
        for number, (text, value) in enumerate(documents):
            event_id = value.get("id") if isinstance(value, dict) else None
            # A longer id is refused. Cut it, or a hundred of them would make the answer too large.
            shown_id = event_id[:1_000] if isinstance(event_id, str) else None
            checked.results.append({"id": shown_id, "status": "refused", "detail": None})
            try:
                message = posted(text, value, now + number, self.most_bytes)
                parsed = parse_event(message.body, self.boards, now, at_filled_in=message.at_filled_in)
                checked.events[number] = message._replace(history=history), parsed
            except RefusedEvent as refusal:
                checked.results[number]["detail"] = str(refusal)
            except Exception as error:  # noqa: BLE001 - a body that breaks the parser must not stop the others
                checked.results[number]["detail"] = f"body: cannot be read: {error!r}"
                self.report(error)
        return checked

    def post(self, checked: "CheckedEvents") -> list[dict[str, Any]]:
        """Post events that were checked, and return a result for each, in order.

        A result is `{"id": "0197f2c4", "status": "queued", "detail": None}`, or has the status `refused` and a reason.
        It is `unconfirmed` where the queue did not say that it has the event: it may have it all the same. If that is
        all there is to say, StoreUnavailableError is raised. NotYourMemberError: only an administrator posts history.
        """
        if checked.history and not checked.is_admin:
            raise NotYourMemberError(f"history: needs the scope {ADMIN}, so no event was posted")
        results, numbers = checked.results, list(checked.events)
        for number in numbers:
            results[number]["status"] = "queued"
        taken = self.send([message for message, _ in checked.events.values()])
        for position, reason in taken.refused.items():
            results[numbers[position]].update(status="refused", detail=f"the queue refused it: {reason}")
        for position, reason in taken.untaken.items():
            detail = f"the queue did not say that it has it, post it again with the same id, it counts once: {reason}"
            results[numbers[position]].update(status="unconfirmed", detail=detail)
        if len(taken.untaken) == len(results):
            raise StoreUnavailableError(f"the activity queue: {taken.untaken[0]}")
        return results

    def dry_run(self, checked: "CheckedEvents", tables: "CountedEvents") -> list[dict[str, Any]]:
        """What became of events, and would if they were posted: `{"id": "0197f2c4", "status": "new", "detail": None}`.

        The status is `new`, `refused`, or `known`: the event has counted, and would not count again if posted now. If
        other content counts in its place, `detail` says so. Of a new event that is late it says where it counts, and to
        an administrator on which other boards its id has counted. With `history` it says of a known event whether it
        counted without history, and so in too few periods.
        """
        results, events, history = checked.results, checked.events, checked.history
        read = [event for _, event in events.values()]
        scores, now, backoff = tables.scores, self.clock.now(), self.clock.backoff_for(RETRIED_FOR_S)
        receipts = backoff.retry(scores.receipts, sorted({event.id for event in read}))
        images = self._images(read, scores, receipts, now, backoff)
        ended = backoff.retry(self._ended, tables.records, read, now)
        known: dict[int, Event] = {}
        for number, (_, event) in events.items():
            results[number]["status"], receipt = "known", receipts.get(event.id)
            if receipt is not None and event.digest not in (receipt.digest, receipt.current):
                elsewhere = _elsewhere(event, receipt) if checked.is_admin else []
                results[number].update(status="refused", detail=other_content(event.id, elsewhere))
            elif receipt is None and (refusal := _refused_by(ended, event)) is not None:
                results[number].update(status="refused", detail=str(refusal))
            elif receipt is None or (_counts_again(event, receipt, images, now) and not _refused_by(ended, event)):
                results[number].update(status="new", detail=None if history else self._where(event, now))
            elif receipt.current not in (None, event.digest) and event.corrects is None:
                results[number]["detail"] = OTHER_COUNTS
            else:
                known[number] = event
        for number in self._lacking(known, receipts, tables.records, backoff) if history else ():
            results[number]["detail"] = WITHOUT_HISTORY
        return results

    @staticmethod
    def _images(
        events: Iterable[Event], scores: "Scores", receipts: Mapping[str, "Receipt"], now: int, backoff: Backoff
    ) -> Mapping["MemberKey", "Image"]:
        """The members' items of events that may count again at `now` (ms)."""
        again = (event for event in events if (found := receipts.get(event.id)) and may_count_again(found.stamp, now))
        items = {item for event in again for item in event.items}
        return backoff.retry(lambda: scores.images(sorted(items), consistent=True, damaged=[])) if items else {}

    def _ended(self, records: "BoardRecords", events: Iterable[Event], now: int) -> dict[str, int | None]:
        """The boards of events that have ended by `now` (ms), and when. Only records of families that end are read."""
        boards = {board for event in events for board, _ in event.items}
        ending = {board for board in boards if family_of(self.boards, board).expires is not None}
        found = records.records(ending) if ending else {}
        return {board: one.ends for board, one in found.items() if one.has_ended(now) and not one.is_gone(now)}

    def _lacking(
        self, known: Mapping[int, Event], receipts: Mapping[str, "Receipt"], records: "BoardRecords", backoff: Backoff
    ) -> list[int]:
        """The numbers of the known events that counted without history, and would count in more periods with it."""
        contents = {number: decode_content(receipts[event.id].content or "") for number, event in known.items()}
        counted = {number: content.counted for number, content in contents.items() if content is not None}
        boards = {board for each in counted.values() for board, _ in each}
        found = backoff.retry(records.records, boards) if boards else {}
        now = self.clock.now()
        return [number for number, each in counted.items() if _lacks(self.boards, known[number], each, found, now)]

    def _where(self, event: Event, now: int) -> str | None:
        """Where an event counts that is late; None for one that is not, and for a correction."""
        if event.corrects is not None:
            return None
        parts = ((update.board, update.amounts, update.sets) for update in event.updates)
        return late_windows(lambda _: self.boards, parts, event.at, now).sentence("history=true")


def _refused_by(ended: Mapping[str, int | None], event: Event) -> RefusedEvent | None:
    """Why an event is refused, if one of its boards has ended."""
    board = next((board for board, _ in event.items if board in ended), None)
    return None if board is None else expired_board(board, ended[board], event.id)


def _elsewhere(event: Event, receipt: "Receipt") -> list[str]:
    """The boards on which the event of a receipt counted; none if this event with its id names one of them."""
    content = decode_content(receipt.content or "")
    boards = {board for board, _ in content.counted} if content is not None else set[str]()
    return sorted(boards) if boards.isdisjoint(board for board, _ in event.items) else []


def _counts_again(event: Event, receipt: "Receipt", images: Mapping["MemberKey", "Image"], now: int) -> bool:
    """Whether an event that has a receipt would count again if it were posted now (ms)."""
    is_current = event.corrects is None and receipt.current == event.digest
    return is_current and counts_again(map(images.get, event.items), receipt.stamp, now)


def _lacks(boards: Boards, event: Event, counted: Counted, records: Mapping[str, "BoardRecord"], now: int) -> bool:
    """Whether an event that counted would count in more places, as an event of history."""
    for update in event.updates:
        record = records.get(update.board)
        if record is None or record.deleted or record.has_ended(now):
            continue
        part = EventPart(event.id, event.at, update.amounts, history=History(record.settled))
        added = counted.get((update.board, update.member), {})
        if counts_more(family_of(boards, update.board), added, part, now):
            return True
    return False


def posted(text: str, value: Any, now: int, most_bytes: int) -> Posted:
    """Prepare a text with its parsed value for the queue: `at` defaults to `now` (ms).

    The message names the event's first board, if the value has one. Raises RefusedEvent if it is too large.
    """
    # A correction without `at` keeps that of its event.
    filled_in = isinstance(value, dict) and bool(value) and not value.keys() & {"at", "correct", "retract"}
    if filled_in:
        text = f'{{"at":"{instant(now)}",{text[1:]}'
    # JSON has these two characters, SQS does not.
    text = text.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
    if (size := len(text.encode())) > most_bytes:
        raise RefusedEvent("size", f"body: expected at most {most_bytes} bytes, got {size}")
    try:
        board = value["updates"][0]["board"] if "updates" in value else value["board"]
        first = board[0] if isinstance(board, list) else board
    except (LookupError, TypeError):
        first = None
    return Posted(text, filled_in, first if isinstance(first, str) and BOARD_NAME.fullmatch(first) else None)


MAX_EVENTS: Final = 100
_WHITESPACE: Final = " \t\r\n"


def parse_documents(body: bytes) -> list[tuple[str, Any]]:
    """Each event of a body, its text and its value: `[('{"id": "e1"}', {"id": "e1"})]`.

    The value is None if no parser can hold it, as with half a surrogate pair. Raises InvalidBodyError for a body that
    is no JSON, and for a list of none or too many.
    """
    try:
        return [(text, _parse(text)) for text in _split(body.decode().strip(_WHITESPACE))]
    except ValueError as error:
        raise InvalidBodyError(f"expected an event, or a list of 1 to {MAX_EVENTS} events, as JSON: {error}") from error


# A string (one that is not closed runs to the end), a bracket or a comma. Possessive, so that no text takes long.
_MARK: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{},]', re.DOTALL)


def _split(text: str) -> list[str]:
    """Cut a list into the texts of its values, however deeply they are nested. An object stays whole."""
    if text.startswith("{"):
        return [text]
    if not text.startswith("["):
        raise ValueError("the body does not begin with { or [")
    cuts = [0]
    depth = 0
    for match in _MARK.finditer(text):
        mark = match[0]
        depth += (mark in ("[", "{")) - (mark in ("]", "}"))
        if not depth or (depth == 1 and mark == ","):
            cuts.append(match.start())
            if len(cuts) > MAX_EVENTS + 1:
                raise ValueError(f"the list has more than {MAX_EVENTS} values")
    if depth or cuts[-1] != len(text) - 1 or not text.endswith("]"):
        raise ValueError("the list does not end with its bracket")
    texts = [text[before + 1 : cut].strip(_WHITESPACE) for before, cut in pairwise(cuts)]
    if texts == [""]:
        raise ValueError("the list is empty")
    return texts


def _parse(text: str) -> Any:
    """Parse a JSON text. Return None for a value that no parser can hold; raise ValueError for invalid JSON."""
    with suppress(ValueError):
        return orjson.loads(text)
    # Invalid, or valid JSON of one bad event: a number out of bounds, half a surrogate pair, or deep nesting.
    try:
        value = json.loads(text, parse_int=str, parse_float=str, parse_constant=no_constant)
        orjson.dumps(value)
    except (RecursionError, TypeError):
        return None
    return value


def event_status(scores: "Scores", clock: Clock, event_id: str, *, with_reason: bool) -> dict[str, Any]:
    """What became of an event: `{"id": "0197f2c4", "status": "counted", "at": "2026-11-21T10:15:01.000Z"}`.

    The status is `counted`, or `refused`: then `with_reason` adds the `reason`, which may name a member. A counted one
    is `superseded` if a number that it sets was older than one that had counted. If it was corrected, `corrected` says
    when and `by` which id; if it was taken back, so does `retracted`. A correction `corrects` another event.

    Raises NotFoundError if neither is known, StoreUnavailableError.
    """
    if not is_event_id(event_id):
        raise bad_argument("id", f"expected 1 to {MAX_ID_LENGTH} characters, got {len(event_id)}")
    status = clock.retry(scores.status, event_id)
    if status is None:
        detail = (
            f"nothing is known of the event {shown(event_id)}: it is on its way, or it was never sent, or it was "
            "counted more than 30 days ago or refused more than 14 days ago"
        )
        raise NotFoundError("no-such-event", "No such event", detail)
    answer: dict[str, Any] = {"id": event_id, "status": "counted" if status.reason is None else "refused"}
    if status.reason is not None and with_reason:
        answer["reason"] = status.reason
    answer |= {"at": instant(status.at), **({"superseded": True} if status.is_superseded else {})}
    if (latest := status.correction) is not None:
        kind = "retracted" if latest.current is None else "corrected"
        answer[kind] = {"at": instant(latest.at), "by": latest.by}
    return {**answer, **({} if status.corrects is None else {"corrects": status.corrects})}
