"""Turns rows whose ids have counted with other content, or without history, into corrections: `post --correct`."""

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from typing import Any, Final

import orjson

from standings.aws.sqs import AT_FILLED_IN, OutgoingMessage
from standings.domain.events import OTHER_COUNTS, WITHOUT_HISTORY, other_content
from standings_cli.post.known import MOST, Known, Result
from standings_cli.stack.errors import InputError

_FIRST_AT: Final = re.compile(r'\{"at":"[^"]*",')


def corrected(
    known: Known, messages: Iterable[tuple[OutgoingMessage, Any]], run: int, *, moves: bool = False
) -> Iterator[tuple[tuple[OutgoingMessage, Any], Result]]:
    """Yield messages, each with what would become of it; for a changed row the correction of its event.

    So it is for a row that counted without history, if `known` asks for that. A row whose id has counted on another
    board stays refused, unless it `moves` from there.

    `run` is when the run began: another one may correct an event to what it was before. Raises InputError if the API
    does not say which rows have changed.
    """
    rest = iter(messages)
    while part := [*islice(rest, MOST)]:
        results = known.results([message for message, _ in part])
        if len(results) < len(part):
            reason = known.problem or "there is no API to ask"
            raise InputError(f"--correct has to ask the API which rows have changed: {reason}")
        for (message, row), result in zip(part, results, strict=True):
            event_id = orjson.loads(message.body)["id"]
            if is_corrected(event_id, result, moves=moves):
                yield (correction_of(message, event_id, run), row), {**result, "status": "new"}
            else:
                yield (message, row), result


def is_corrected(event_id: str, result: Result, *, moves: bool = False) -> bool:
    """Whether `post --correct` sends a correction for a row of which the API says this."""
    is_same = result["detail"] in (other_content(event_id), OTHER_COUNTS, WITHOUT_HISTORY)
    return is_same or (moves and is_elsewhere(event_id, result))


def is_elsewhere(event_id: str, result: Result) -> bool:
    """Whether the id of a row has counted on another board."""
    return str(result["detail"]).startswith(f"{other_content(event_id)}, on ")


def correction_of(message: OutgoingMessage, event_id: str, run: int) -> OutgoingMessage:
    """The message that corrects an event by the content of another message, which has the event's id.

    It keeps the time of the event if the row has none.
    """
    body, attributes = message.body, dict(message.attributes)
    if attributes.get(AT_FILLED_IN, {}).get("StringValue") == "true":
        del attributes[AT_FILLED_IN]
        body = _FIRST_AT.sub("{", body, count=1)
    own = blake2b(f"{run} {body}".encode(), digest_size=16).hexdigest()
    # Of a field that an object has twice, the last one counts.
    fields = orjson.dumps({"correct": event_id, "id": own}).decode()
    return message._replace(body=f"{body.rstrip()[:-1]},{fields[1:]}", attributes=attributes)
