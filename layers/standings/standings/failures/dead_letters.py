"""Refused messages on their way to the dead-letter queue: body unchanged, the reason as an attribute."""

from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson
from botocore.exceptions import BotoCoreError, ClientError

from standings.failures.bucket import FailureBucket
from standings.services.store import StoreUnavailableError

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
MOST_BYTES: Final = 1_048_576
MOST_ATTRIBUTES: Final = 10
MOST_ENTRIES: Final = 10
REASON: Final = "reason"
LONGEST_REASON: Final = 1_000

_Entry = dict[str, Any]


class DeadLetters:
    """Sends refused messages to the dead-letter queue by the writer's own hand: more tries would only hide why."""

    def __init__(self, client: "Callable[[], SQSClient]", queue_url: str, bucket: FailureBucket) -> None:
        self._make_client = client
        self._client: SQSClient | None = None
        self._queue_url = queue_url
        self._bucket = bucket

    def send(self, refused: Sequence[tuple[Mapping[str, Any], str]]) -> dict[str, str]:
        """Send SQS records as Lambda delivers them, each with its reason.

        Returns why by message id for those that could not be sent, which are then to be delivered again.
        """
        failed: dict[str, str] = {}
        entries: list[tuple[str, _Entry]] = []
        for record, reason in refused:
            try:
                entries.append((record["messageId"], self._entry(record, reason)))
            except StoreUnavailableError as error:
                failed[record["messageId"]] = str(error)
        for batch in _batches(entries):
            failed.update(self._send(batch))
        return failed

    def _send(self, batch: Sequence[tuple[str, _Entry]]) -> dict[str, str]:
        try:
            if self._client is None:
                self._client = self._make_client()
            entries: Any = [{**entry, "Id": str(number)} for number, (_, entry) in enumerate(batch)]
            answer = self._client.send_message_batch(QueueUrl=self._queue_url, Entries=entries)
        except (ClientError, BotoCoreError) as error:
            return dict.fromkeys((message_id for message_id, _ in batch), str(error))
        return {
            batch[int(entry["Id"])][0]: f"{entry['Code']}: {entry.get('Message', '')}"
            for entry in answer.get("Failed", [])
        }

    def _entry(self, record: Mapping[str, Any], reason: str) -> _Entry:
        body: str = record["body"]
        attributes = _attributes(record)
        # A message may have all the attributes that it can: then the reason takes the place of one.
        while len(attributes) >= MOST_ATTRIBUTES:
            attributes.popitem()
        room = MOST_BYTES - _size(body, attributes) - len(REASON) - len("String")
        text = _cut(reason, min(room, LONGEST_REASON))
        if not text:
            key = f"refused/{record['messageId']}.json"
            whole = orjson.dumps({"reason": reason, "record": dict(record)})
            address = self._bucket.keep(key, whole)
            body = orjson.dumps({"body": f"kept whole in {address}"}).decode()
            text = _cut(reason, LONGEST_REASON)
            attributes = {}
        attributes[REASON] = {"DataType": "String", "StringValue": text}
        return {"MessageBody": body, "MessageAttributes": attributes}


def _attributes(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """A message's own attributes, from Lambda's form to that of the API; an older reason gives way to the new one."""
    attributes: dict[str, dict[str, Any]] = {}
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


def _size(body: str, attributes: Mapping[str, Mapping[str, Any]]) -> int:
    size = len(body.encode())
    for name, value in attributes.items():
        content = value.get("BinaryValue")
        size += len(name.encode()) + len(value["DataType"].encode())
        size += len(content if content is not None else value["StringValue"].encode())
    return size


def _cut(text: str, size: int) -> str:
    return text.encode()[: max(size, 0)].decode(errors="ignore")


def _batches(entries: Sequence[tuple[str, _Entry]]) -> Iterator[list[tuple[str, _Entry]]]:
    """Entries in batches of at most ten that together stay within the size of one message."""
    batch: list[tuple[str, _Entry]] = []
    filled = 0
    for message_id, entry in entries:
        size = _size(entry["MessageBody"], entry["MessageAttributes"])
        if batch and (len(batch) == MOST_ENTRIES or filled + size > MOST_BYTES):
            yield batch
            batch, filled = [], 0
        batch.append((message_id, entry))
        filled += size
    if batch:
        yield batch
