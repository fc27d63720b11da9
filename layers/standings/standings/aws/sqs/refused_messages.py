"""Refused messages on their way to the dead-letter queue: body unchanged, the reason as an attribute."""

import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from standings.aws.s3.failure_bucket import FailureBucket
from standings.aws.sqs.activity_queue import AT_FILLED_IN, FIRST_RECEIVED, first_received, group_of
from standings.aws.sqs.sender import MAX_ATTRIBUTES, MAX_BYTES, Attributes, OutgoingMessage, Sender, size
from standings.ports.errors import StoreUnavailableError

REASON: Final = "reason"
KEPT_IN: Final = "kept_in"
"""The message attribute that names the object in which a body is kept that has no room in the queue."""

_KEPT: Final = "kept whole in "

MAX_REASON_LENGTH: Final = 1_000
NOT_OF_SQS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""What no message can have: the characters that XML has not."""


class DeadLetters:
    """Sends refused messages to the dead-letter queue by the writer's own hand: more tries would only hide why."""

    def __init__(self, sender: Sender, bucket: FailureBucket) -> None:
        self._sender = sender
        self._bucket = bucket

    def send(self, refused: Sequence[tuple[Mapping[str, Any], str]]) -> dict[str, str]:
        """Send SQS records as Lambda delivers them, each with its reason.

        Returns why by message id for those that could not be sent, which are then to be delivered again.
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
        ours = received_at(first_received(record))
        if not NOT_OF_SQS.search(body):
            attributes = fitting(attributes_of(record), {REASON: _text("."), **_kept_before(record), **ours})
            room = MAX_BYTES - size(body, attributes) + len(".")
            text = _cut(reason, min(room, MAX_REASON_LENGTH))
            if text:
                attributes[REASON] = _text(text)
                return OutgoingMessage(body, attributes, group_of(record))
        key = f"refused/{record['messageId']}.json"
        address = self._bucket.keep(key, {"reason": reason, "record": dict(record)})
        body = orjson.dumps({"body": f"{_KEPT}{address}"}).decode()
        attributes = {REASON: _text(_cut(reason, MAX_REASON_LENGTH)), KEPT_IN: _text(key), **ours}
        return OutgoingMessage(body, attributes, group_of(record))


def _kept_before(record: Mapping[str, Any]) -> Attributes:
    """The name of the object, for a message in the place of a body that the queue's own redrive has sent here."""
    key = record.get("messageAttributes", {}).get(KEPT_IN, {}).get("stringValue")
    body: str = record["body"]
    return {KEPT_IN: _text(key)} if key and _KEPT in body and body.endswith(f'/{key}"}}') else {}


def attributes_of(record: Mapping[str, Any]) -> Attributes:
    """A message's own attributes, from Lambda's form to that of the API, without those of an earlier refusal."""
    attributes: Attributes = {}
    for name, value in record.get("messageAttributes", {}).items():
        attribute = {"DataType": value["dataType"]}
        if value.get("binaryValue") is not None:
            attribute["BinaryValue"] = b64decode(value["binaryValue"])
        else:
            attribute["StringValue"] = value["stringValue"]
        attributes[name] = attribute
    return without_ours(attributes)


def without_ours(attributes: Attributes) -> Attributes:
    """Attributes without those that a refusal has added."""
    return {name: value for name, value in attributes.items() if name not in (REASON, KEPT_IN, FIRST_RECEIVED)}


def fitting(attributes: Attributes, ours: Attributes) -> Attributes:
    """Attributes with ours, as many as a message can have: ours take the places of others, the last ones first."""
    first = {name: value for name, value in attributes.items() if name == AT_FILLED_IN}
    others = {name: value for name, value in attributes.items() if name != AT_FILLED_IN}
    while len(first) + len(others) + len(ours) > MAX_ATTRIBUTES:
        others.popitem()
    return {**first, **others, **ours}


def received_at(instant: int | None) -> Attributes:
    """The attribute that says when an event was first received; none where that is not known."""
    return {} if instant is None else {FIRST_RECEIVED: {"DataType": "Number", "StringValue": str(instant)}}


def _text(text: str) -> dict[str, Any]:
    return {"DataType": "String", "StringValue": text}


def _cut(text: str, size: int) -> str:
    return text.encode()[: max(size, 0)].decode(errors="ignore")
