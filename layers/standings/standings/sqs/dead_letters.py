"""Refused messages on their way to the dead-letter queue: body unchanged, the reason as an attribute."""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from standings.failures.bucket import FailureBucket
from standings.services.store import StoreUnavailableError
from standings.sqs.sending import MOST_ATTRIBUTES, MOST_BYTES, Attributes, Message, Sender, size

REASON: Final = "reason"
LONGEST_REASON: Final = 1_000


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
        messages: list[tuple[str, Message]] = []
        for record, reason in refused:
            try:
                messages.append((record["messageId"], self._message(record, reason)))
            except StoreUnavailableError as error:
                failed[record["messageId"]] = str(error)
        unsent = self._sender.send([message for _, message in messages])
        failed.update((messages[position][0], why) for position, why in unsent.items())
        return failed

    def _message(self, record: Mapping[str, Any], reason: str) -> Message:
        body: str = record["body"]
        attributes = _attributes(record)
        # A message may have all the attributes that it can: then the reason takes the place of one.
        while len(attributes) >= MOST_ATTRIBUTES:
            attributes.popitem()
        room = MOST_BYTES - size(body, attributes) - len(REASON) - len("String")
        text = _cut(reason, min(room, LONGEST_REASON))
        if not text:
            key = f"refused/{record['messageId']}.json"
            whole = orjson.dumps({"reason": reason, "record": dict(record)})
            address = self._bucket.keep(key, whole)
            body = orjson.dumps({"body": f"kept whole in {address}"}).decode()
            text = _cut(reason, LONGEST_REASON)
            attributes = {}
        attributes[REASON] = {"DataType": "String", "StringValue": text}
        return Message(body, attributes)


def _attributes(record: Mapping[str, Any]) -> Attributes:
    """A message's own attributes, from Lambda's form to that of the API; an older reason gives way to the new one."""
    attributes: Attributes = {}
    for name, value in record.get("messageAttributes", {}).items():
        if name == REASON:
            continue
        attribute = {"DataType": value["dataType"]}
        if value.get("binaryValue") is not None:
            attribute["BinaryValue"] = b64decode(value["binaryValue"])
        else:
            attribute["StringValue"] = value["stringValue"]
        attributes[name] = attribute
    return attributes


def _cut(text: str, size: int) -> str:
    return text.encode()[: max(size, 0)].decode(errors="ignore")
