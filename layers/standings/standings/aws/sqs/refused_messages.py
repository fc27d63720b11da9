"""Sends refused messages to the dead-letter queue: the body unchanged, the reason as an attribute."""

import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from standings.aws.s3.failure_bucket import FailureBucket
from standings.aws.sqs.messages import (
    AT_FILLED_IN,
    FIRST_RECEIVED,
    MAX_ATTRIBUTES,
    MAX_BYTES,
    Attributes,
    OutgoingMessage,
    Sender,
    first_received,
    group_of,
    size,
)
from standings.ports.errors import StoreUnavailableError

# Message attributes of a refused event
REASON: Final = "reason"
KEPT_IN: Final = "kept_in"  # The key of the object that stores a body for which the queue has no room
KEPT_KEY: Final = re.compile(r"refused/[^/]+\.json")
"""Such a key holds SQS's random id of the message. A producer that writes `kept_in` itself knows its own ids alone."""
_KEPT: Final = "kept whole in "
MAX_REASON_LENGTH: Final = 1_000
NOT_OF_SQS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # SQS takes none of them


class DeadLetters:
    """Sends refused messages to the dead-letter queue at once: more tries would only hide the reason."""

    def __init__(self, sender: Sender, bucket: FailureBucket) -> None:
        self._sender = sender
        self._bucket = bucket

    def send(self, refused: Sequence[tuple[Mapping[str, Any], str]]) -> dict[str, str]:
        """Send SQS records as Lambda delivers them, each with its reason.

        Returns an error by message id for each record that was not sent. Lambda has to deliver these again.
        """
        failed: dict[str, str] = {}
        messages: list[tuple[str, OutgoingMessage]] = []
        for record, reason in refused:
            try:
                messages.append((record["messageId"], self._message(record, reason)))
            except StoreUnavailableError as error:
                failed[record["messageId"]] = str(error)
        unsent = self._sender.send([message for _, message in messages])
        failed.update((messages[position][0], why) for position, why in unsent.items())
        return failed

    def _message(self, record: Mapping[str, Any], reason: str) -> OutgoingMessage:
        body: str = record["body"]
        reason = NOT_OF_SQS.sub("?", reason)
        time = received_at(first_received(record))
        if not NOT_OF_SQS.search(body):
            attributes = fitting(attributes_of(record), {REASON: _text("."), **_kept_before(record), **time})
            room = MAX_BYTES - size(body, attributes) + len(".")
            text = _cut(reason, min(room, MAX_REASON_LENGTH))
            if text:
                attributes[REASON] = _text(text)
                return OutgoingMessage(body, attributes, group_of(record))
        key = f"refused/{record['messageId']}.json"
        address = self._bucket.keep(key, {"reason": reason, "record": dict(record)})
        body = orjson.dumps({"body": f"{_KEPT}{address}"}).decode()
        attributes = {REASON: _text(_cut(reason, MAX_REASON_LENGTH)), KEPT_IN: _text(key), **time}
        return OutgoingMessage(body, attributes, group_of(record))


def _kept_before(record: Mapping[str, Any]) -> Attributes:
    """The attribute with the object's key, if SQS itself redrove a message whose body is in the failure bucket."""
    key = record.get("messageAttributes", {}).get(KEPT_IN, {}).get("stringValue") or ""
    body: str = record["body"]
    is_kept = KEPT_KEY.fullmatch(key) and _KEPT in body and body.endswith(f'/{key}"}}')
    return {KEPT_IN: _text(key)} if is_kept else {}


def attributes_of(record: Mapping[str, Any]) -> Attributes:
    """A record's message attributes in the form of the SQS API, without those of an earlier refusal."""
    attributes: Attributes = {}
    for name, value in record.get("messageAttributes", {}).items():
        binary = value.get("binaryValue")
        content = {"StringValue": value["stringValue"]} if binary is None else {"BinaryValue": b64decode(binary)}
        attributes[name] = {"DataType": value["dataType"], **content}
    return without_ours(attributes)


def without_ours(attributes: Attributes) -> Attributes:
    """Attributes without those that a refusal adds."""
    return {name: value for name, value in attributes.items() if name not in (REASON, KEPT_IN, FIRST_RECEIVED)}


def fitting(attributes: Attributes, ours: Attributes) -> Attributes:
    """A message's attributes and ours, at most 10. The last of the others are dropped, never `at_filled_in`."""
    first = {name: value for name, value in attributes.items() if name == AT_FILLED_IN}
    others = [(name, value) for name, value in attributes.items() if name != AT_FILLED_IN]
    return {**first, **dict(others[: MAX_ATTRIBUTES - len(first) - len(ours)]), **ours}


def received_at(instant: int | None) -> Attributes:
    """The attribute with the time at which an event was first received, if that is known."""
    return {} if instant is None else {FIRST_RECEIVED: {"DataType": "Number", "StringValue": str(instant)}}


def _text(text: str) -> dict[str, Any]:
    return {"DataType": "String", "StringValue": text}


def _cut(text: str, size: int) -> str:
    """The longest beginning of a text that has at most so many bytes."""
    return text.encode()[: max(size, 0)].decode(errors="ignore")
