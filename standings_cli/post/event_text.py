"""Events as JSON text. No amount is ever read as a float."""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from standings.aws.sqs import MAX_BODY_BYTES, OutgoingMessage, message_of
from standings.domain.boards import BOARD_NAME, MAX_MEMBER_BYTES, Boards
from standings.domain.boards_toml import METRIC_NAME
from standings.domain.events import MAX_ID_LENGTH, RefusedEvent, parse_event, read_at, shown
from standings.ingest import posted

FIELDS: Final = ("id", "board", "member", "at")
METRIC_RULE: Final = "a metric's name (a-z, then a-z, 0-9 and _, at most 64)"

_AMOUNT: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", re.ASCII)


class EventText(NamedTuple):
    """An event as JSON, and its fields. Amounts are exact in the text only."""

    text: str
    fields: Mapping[str, Any]

    def having(self, name: str, value: str) -> "EventText":
        """Return the event with one more field."""
        return EventText(f'{{"{name}":{_quoted(value)},{self.text[1:]}', {**self.fields, name: value})


def event_text(fields: Mapping[str, str], amounts: Mapping[str, str]) -> EventText:
    """Write an event as JSON: fields and metrics in a fixed order, amounts as given. Raises RefusedEvent."""
    if not amounts:
        raise RefusedEvent("metrics", "metrics: expected at least one amount, got none")
    for name, amount in amounts.items():
        check_amount(name, amount)
    parts = [f'"{name}":{_quoted(fields[name])}' for name in FIELDS if name in fields]
    metrics = ",".join(f'"{name}":{amount}' for name, amount in sorted(amounts.items()))
    parts.append(f'"metrics":{{{metrics}}}')
    return EventText(f"{{{','.join(parts)}}}", {**fields, "metrics": amounts})


def message(event: EventText, now: int, boards: Boards | None) -> OutgoingMessage:
    """Make an event's message. RefusedEvent if it breaks a rule; `boards` adds the rules of a boards.toml."""
    _check(event.fields, now)
    post = posted(event.text, event.fields, now, MAX_BODY_BYTES)
    if boards is not None:
        parse_event(post.body, boards, now, at_filled_in=post.at_filled_in)
    return message_of(post)


def check_amount(name: str, amount: str) -> None:
    """Raise RefusedEvent for an invalid metric name or amount."""
    if not METRIC_NAME.fullmatch(name):
        raise RefusedEvent("metrics", f"metrics: expected {METRIC_RULE}, got {name!r}")
    if not _AMOUNT.fullmatch(amount):
        rule = "a plain number such as 3, -2 or 11.25"
        raise RefusedEvent("amount", f"metrics.{name}: expected {rule}, got {shown(amount)}")


def _quoted(text: str) -> str:
    return orjson.dumps(text).decode()


def _check(fields: Mapping[str, Any], now: int) -> None:
    """Raise RefusedEvent for what the writer refuses on any board."""
    required = {"id", "updates"} if "updates" in fields else {"id", "board", "member", "metrics"}
    for name in sorted(required - fields.keys()):
        raise RefusedEvent("missing", f"{name}: is missing")
    for name in sorted(fields.keys() - required - {"at"}):
        raise RefusedEvent("unknown", f"expected the fields at, {', '.join(sorted(required))}, got {name!a}")
    event_id, board, member, at = (fields.get(name, "") for name in FIELDS)
    if not isinstance(event_id, str) or not 1 <= len(event_id) <= MAX_ID_LENGTH:
        raise RefusedEvent("id", f"id: expected text of 1 to {MAX_ID_LENGTH} characters, got {shown(event_id)}")
    if isinstance(board, str) and "board" in fields and (not BOARD_NAME.fullmatch(board) or board in (".", "..")):
        rule = "1 to 128 of A-Z a-z 0-9 . _ : -, not . or .."
        raise RefusedEvent("board", f"board: expected {rule}, got {shown(board)}")
    if isinstance(member, str) and "member" in fields and not 1 <= len(member.encode()) <= MAX_MEMBER_BYTES:
        rule = f"1 to {MAX_MEMBER_BYTES} bytes of UTF-8"
        raise RefusedEvent("member", f"member: expected {rule}, got {len(member.encode())}: {shown(member)}")
    if "at" in fields:
        if not isinstance(at, str):
            raise RefusedEvent("at", f"at: expected text, got {shown(at)}")
        read_at(at, now)
