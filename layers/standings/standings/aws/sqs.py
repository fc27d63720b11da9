"""SQS: sends messages to the queues, keeps refused ones in the dead-letter queue, and reads what a message says.

Events come over the activity queue, requests to look at a ranking's top over the queue of looks. A record is an SQS
message as Lambda delivers it. Redrives keep a message's attributes. Times are in milliseconds since 1970.
"""

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import orjson
from botocore.exceptions import BotoCoreError, ClientError, ConnectionError, HTTPClientError  # noqa: A004 - botocore's

from standings.aws.s3 import FailureBucket
from standings.aws.sdk_errors import error_code, errors_as_unavailable
from standings.runtime.clock import OUT_OF_TIME
from standings.stores import Posted, RankingName, StoreUnavailableError

if TYPE_CHECKING:
    from mypy_boto3_sqs import client as stubs

# Message attributes
AT_FILLED_IN: Final = "at_filled_in"  # Of an event whose `at` is not in its digest: "true", or the `at` that is
FIRST_RECEIVED: Final = "first_received"  # Of a refused event: when the writer first received it
HISTORY: Final = "history"  # Of an event that also counts in periods that have closed: "true"
REASON: Final = "reason"  # Of a refused event: why
KEPT_IN: Final = "kept_in"  # Of a refused event for whose body the queue has no room: the key of the object with it
KEPT_KEY: Final = re.compile(r"refused/[^/]+\.json")
"""Such a key holds SQS's random id of the message. A producer that writes `kept_in` itself knows only its own ids."""

# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
MAX_BYTES: Final = 1_048_576  # The most bytes of a message, and of a batch of messages: bodies and attributes together
MAX_BODY_BYTES: Final = MAX_BYTES - len(f"{AT_FILLED_IN}Stringtrue")  # The most bytes of an event that is posted
MAX_ATTRIBUTES: Final = 10
MAX_ENTRIES: Final = 10
MAX_HOLD_S: Final = 43_200  # The longest time for which SQS hides a message, in seconds
MAX_REASON_LENGTH: Final = 1_000  # In bytes
NOT_OF_SQS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # SQS takes none of them
WAIT: Final = 1  # Seconds to wait for a message. Without a wait SQS asks only some of the queue's servers.
_MAX_DIGITS: Final = 15
_KEPT: Final = "kept whole in "
_DEAD_LETTER_ERRORS: Final = errors_as_unavailable("dead-letter queue")

SQSClient: TypeAlias = "stubs.SQSClient"
Attributes = dict[str, dict[str, Any]]  # In the form of the SQS API: {"reason": {"DataType": "String", …}}


class OutgoingMessage(NamedTuple):
    """A message to send, to be delivered after `delay` seconds; None: as the queue says.

    SQS shares the queue fairly among groups: one `group` cannot delay others.
    https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html
    """

    body: str
    attributes: Attributes
    group: str | None = None
    delay: int | None = None


class Taken(NamedTuple):
    """The result of sending a batch: messages that the queue will never take, and those that it did not take yet.

    Both are reasons by position: `Taken({}, {3: "ServiceUnavailable: "})`. All other messages are on the queue.
    """

    refused: dict[int, str]
    untaken: dict[int, str]

    @property
    def failed(self) -> dict[int, str]:
        """The reasons of all messages that are not on the queue, by position: `{3: "ServiceUnavailable: "}`."""
        return {**self.refused, **self.untaken}


class Sender:
    """Sends messages to a queue, each once. The first call makes the client."""

    def __init__(self, client: Callable[[], SQSClient], queue_url: str) -> None:
        self._sqs = cache(client)
        self._queue_url = queue_url

    def send(self, messages: Sequence[OutgoingMessage], is_late: Callable[[], bool] = lambda: False) -> Taken:
        """Send messages in their order. If only an answer was lost, an `untaken` message is on the queue all the same.

        If SQS does not answer for one batch, the later batches are not tried: each would wait as long. No call begins
        once it `is_late`.
        """
        taken = Taken({}, {})
        no_answer = None
        for batch in _batches(messages):
            reason = no_answer = no_answer or (OUT_OF_TIME if is_late() else None)
            if reason is None:
                try:
                    answered = _send_once(self._sqs(), self._queue_url, batch)
                    taken.refused.update(answered.refused)
                    taken.untaken.update(answered.untaken)
                except ClientError as error:
                    reason = str(error)
                except BotoCoreError as error:
                    reason = no_answer = str(error)
            if reason is not None:
                taken.untaken.update((position, reason) for position, _ in batch)
        return taken


def send_until_taken(
    sqs: SQSClient, queue_url: str, messages: Sequence[OutgoingMessage], again: Callable[[int], bool]
) -> Taken:
    """Send a batch, and again what the queue did not take. `again(1)` waits after the first attempt, or returns false.

    Raises the SDK's errors that are not worth another attempt.
    """
    refused: dict[int, str] = {}
    untaken = dict.fromkeys(range(len(messages)), "")
    for attempt in count(1):
        try:
            taken = _send_once(sqs, queue_url, [(position, messages[position]) for position in untaken])
        except (ClientError, ConnectionError, HTTPClientError) as error:
            if not _is_temporary(error):
                raise
            untaken = dict.fromkeys(untaken, str(error))
        else:
            refused |= taken.refused
            untaken = taken.untaken
        if not untaken or not again(attempt):
            break
    return Taken(refused, untaken)


def _send_once(sqs: SQSClient, queue_url: str, batch: Sequence[tuple[int, OutgoingMessage]]) -> Taken:
    """Send a batch of messages with their positions. Raises the SDK's errors."""
    entries: list[Any] = [
        {
            "Id": str(position),
            "MessageBody": message.body,
            "MessageAttributes": message.attributes,
            **({} if message.group is None else {"MessageGroupId": message.group}),
            **({} if message.delay is None else {"DelaySeconds": message.delay}),
        }
        for position, message in batch
    ]
    taken = Taken({}, {})
    for failure in sqs.send_message_batch(QueueUrl=queue_url, Entries=entries).get("Failed", []):
        is_final = failure.get("SenderFault") and not _is_throttled(failure["Code"])
        (taken.refused if is_final else taken.untaken)[int(failure["Id"])] = _failure_text(failure)
    return taken


def _failure_text(failed: Mapping[str, Any]) -> str:
    return f"{failed['Code']}: {failed.get('Message', '')}"


def _is_temporary(error: Exception) -> bool:
    """Whether the same request may succeed later. The client itself has tried more than once already."""
    if not isinstance(error, ClientError):
        return True
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    is_overloaded = status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS
    return is_overloaded or _is_throttled(error_code(error))


def _is_throttled(code: str) -> bool:
    return "hrottl" in code or code == "OverLimit"


def _batches(messages: Iterable[OutgoingMessage]) -> Iterator[list[tuple[int, OutgoingMessage]]]:
    """Messages with their positions, in batches of at most 10 that together have at most `MAX_BYTES`."""
    batch: list[tuple[int, OutgoingMessage]] = []
    batch_bytes = 0
    for position, message in enumerate(messages):
        message_bytes = size(message.body, message.attributes)
        if batch and (len(batch) == MAX_ENTRIES or batch_bytes + message_bytes > MAX_BYTES):
            yield batch
            batch, batch_bytes = [], 0
        batch.append((position, message))
        batch_bytes += message_bytes
    if batch:
        yield batch


def size(body: str, attributes: Mapping[str, Mapping[str, Any]]) -> int:
    """The bytes of a message that SQS counts. It does not count the group."""
    total = len(body.encode())
    for name, value in attributes.items():
        content = value.get("BinaryValue")
        total += len(name.encode()) + len(value["DataType"].encode())
        total += len(content if content is not None else value["StringValue"].encode())
    return total


class Look(NamedTuple):
    """A request to look at a ranking's top. `tries` counts the looks before this one that had to be repeated."""

    name: RankingName
    tries: int = 0


class LookQueue(NamedTuple):
    """The queue of looks."""

    sender: Sender

    def send_now(self, names: Iterable[RankingName]) -> None:
        """Put a first look at each ranking on the queue, to be delivered at once. Raises StoreUnavailableError."""
        self.send((Look(name), 0) for name in names)

    def send(self, looks: Iterable[tuple[Look, int]]) -> None:
        """Put looks on the queue, each to be delivered after so many seconds. Raises StoreUnavailableError."""
        messages = [OutgoingMessage(_encoded(look), {}, delay=delay) for look, delay in looks]
        for first in range(0, len(messages), MAX_ENTRIES):
            for why in self.sender.send(messages[first : first + MAX_ENTRIES]).failed.values():
                raise StoreUnavailableError(f"SQS: {why}")  # Its caller has time for one call that fails


def decode_look(body: str) -> Look:
    """The look of a message such as `{"ranking": ["b", "points", "all", 0], "tries": 0}`; ValueError if it is none."""
    try:
        content = orjson.loads(body)
        return Look(RankingName(*content["ranking"]), content["tries"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"expected a look such as {_encoded(Look(RankingName('b', 'points', 'all', 0)))}") from error


def _encoded(look: Look) -> str:
    return orjson.dumps({"ranking": [*look.name], "tries": look.tries}).decode()


class DeadLetters:
    """Sends refused messages to the dead-letter queue at once: more tries would only hide the reason.

    The body stays as it is, and the reason is an attribute.
    """

    def __init__(self, sender: Sender, bucket: FailureBucket) -> None:
        self._sender = sender
        self._bucket = bucket

    def send(
        self, refused: Sequence[tuple[Mapping[str, Any], str]], is_late: Callable[[], bool] = lambda: False
    ) -> dict[str, str]:
        """Send records, each with the reason why it is refused. No call begins once it `is_late`.

        Returns the error of each record that was not sent, by message id: `{"19dd0b57": "ServiceUnavailable: "}`. It
        is the text of the StoreUnavailableError, which is not raised: Lambda has to deliver these records again.
        """
        failed: dict[str, str] = {}
        messages: dict[str, OutgoingMessage] = {}
        for record, reason in refused:
            try:
                if is_late():
                    raise StoreUnavailableError(OUT_OF_TIME)
                messages[record["messageId"]] = self._message(record, reason)
            except StoreUnavailableError as error:
                failed[record["messageId"]] = str(error)
        ids = list(messages)
        unsent = self._sender.send(list(messages.values()), is_late).failed
        return failed | {ids[position]: why for position, why in unsent.items()}

    def _message(self, record: Mapping[str, Any], reason: str) -> OutgoingMessage:
        body: str = record["body"]
        reason = NOT_OF_SQS.sub("?", reason)
        time = _received_at(first_received(record))
        if not NOT_OF_SQS.search(body):
            attributes = _with_refusal(_attributes_of(record), {REASON: _text("."), **_kept_before(record), **time})
            room = MAX_BYTES - size(body, attributes) + len(".")
            text = _cut(reason, min(room, MAX_REASON_LENGTH))
            if text:
                attributes[REASON] = _text(text)
                return OutgoingMessage(body, attributes, _group_of(record))
        key = f"refused/{record['messageId']}.json"
        address = self._bucket.keep(key, {"reason": reason, "record": dict(record)})
        body = orjson.dumps({"body": f"{_KEPT}{address}"}).decode()
        attributes = {REASON: _text(_cut(reason, MAX_REASON_LENGTH)), KEPT_IN: _text(key), **time}
        return OutgoingMessage(body, attributes, _group_of(record))


def _kept_before(record: Mapping[str, Any]) -> Attributes:
    """The attribute with the object's key, if SQS itself redrove a message whose body is in the failure bucket."""
    key = record.get("messageAttributes", {}).get(KEPT_IN, {}).get("stringValue") or ""
    body: str = record["body"]
    is_kept = KEPT_KEY.fullmatch(key) and _KEPT in body and body.endswith(f'/{key}"}}')
    return {KEPT_IN: _text(key)} if is_kept else {}


def _cut(text: str, size: int) -> str:
    """The longest beginning of a text that has at most so many bytes."""
    return text.encode()[: max(size, 0)].decode(errors="ignore")


class DeadLetter(NamedTuple):
    """A message of the dead-letter queue, as it was sent. `size` is the size of its body in bytes.

    `reason` is None if SQS itself moved the message. `kept_in` names the object that holds its body. `problem` says why
    it cannot be replayed. `handle`, `attributes` and `group` belong to the queue.
    """

    id: str
    handle: str
    body: str
    size: int
    reason: str | None
    first_received: int
    sent: int
    receives: int
    attributes: Attributes
    group: str | None = None
    kept_in: str | None = None
    problem: str | None = None


class DeadLetterQueue:
    """Lists, replays and deletes messages that the writer refused or SQS gave up on.

    Every method may raise StoreUnavailableError. The first call makes the client.
    """

    def __init__(
        self, client: Callable[[], SQSClient], queue_url: str, activity: Sender, bucket: FailureBucket
    ) -> None:
        self._sqs = cache(client)
        self._queue_url = queue_url
        self._activity = activity
        self._bucket = bucket

    @_DEAD_LETTER_ERRORS
    def receive(self, hold: int) -> list[DeadLetter]:
        """Receive a few messages and hide them for `hold` seconds; empty if the queue seems empty."""
        answer = self._sqs().receive_message(
            QueueUrl=self._queue_url,
            MaxNumberOfMessages=MAX_ENTRIES,
            VisibilityTimeout=min(max(hold, 1), MAX_HOLD_S),
            WaitTimeSeconds=WAIT,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        return [self._letter(message) for message in answer.get("Messages", [])]

    def replay(self, letters: Sequence[DeadLetter]) -> dict[str, str]:
        """Send up to `MAX_ENTRIES` messages to the activity queue, then delete them here. Returns the errors by id."""
        failed: dict[str, str] = {}
        ready: list[tuple[DeadLetter, OutgoingMessage]] = []
        for letter in letters:
            attributes = _with_refusal(letter.attributes, _received_at(letter.first_received))
            message = OutgoingMessage(letter.body, attributes, letter.group)
            if size(message.body, message.attributes) > MAX_BYTES:
                failed[letter.id] = f"with {FIRST_RECEIVED} it is too large for the queue: send the event again"
            else:
                ready.append((letter, message))
        unsent = self._activity.send([message for _, message in ready]).failed
        failed.update((ready[position][0].id, why) for position, why in unsent.items())
        sent = [letter for letter, _ in ready if letter.id not in failed]
        # A message that was sent and not deleted is replayed again. Its receipt keeps it from counting twice.
        failed.update((name, f"sent, but not deleted here: {why}") for name, why in self.delete(sent).items())
        return failed

    def delete(self, letters: Sequence[DeadLetter]) -> dict[str, str]:
        """Delete at most `MAX_ENTRIES` messages. Returns the error by id of each failure."""
        try:
            failed = self._delete(letters) if letters else {}
        except StoreUnavailableError as error:
            return {letter.id: str(error) for letter in letters}
        for letter in letters:
            if letter.kept_in is not None and letter.id not in failed:
                try:
                    self._bucket.delete(letter.kept_in)
                except StoreUnavailableError as error:
                    failed[letter.id] = f"{letter.kept_in} was not deleted and will expire: {error}"
        return failed

    @_DEAD_LETTER_ERRORS
    def release(self, handles: Sequence[str]) -> None:
        """Make at most `MAX_ENTRIES` messages visible again at once."""
        released: Any = [{"Id": str(n), "ReceiptHandle": one, "VisibilityTimeout": 0} for n, one in enumerate(handles)]
        self._sqs().change_message_visibility_batch(QueueUrl=self._queue_url, Entries=released)

    @_DEAD_LETTER_ERRORS
    def _delete(self, letters: Sequence[DeadLetter]) -> dict[str, str]:
        entries: Any = [{"Id": str(n), "ReceiptHandle": letter.handle} for n, letter in enumerate(letters)]
        answer = self._sqs().delete_message_batch(QueueUrl=self._queue_url, Entries=entries)
        return {letters[int(failed["Id"])].id: _failure_text(failed) for failed in answer.get("Failed", [])}

    def _letter(self, message: Any) -> DeadLetter:
        attributes: Attributes = {
            name: {kind: value[kind] for kind in ("DataType", "StringValue", "BinaryValue") if kind in value}
            for name, value in message.get("MessageAttributes", {}).items()
        }
        system = message.get("Attributes", {})
        # A message that SQS itself moved here keeps the time at which it was first sent.
        sent = _instant(system.get("SentTimestamp")) or 0
        received = _instant(attributes.get(FIRST_RECEIVED, {}).get("StringValue"))
        # If SQS moved the message, an attribute named `reason` is the producer's own.
        is_refused = "DeadLetterQueueSourceArn" not in system
        letter = DeadLetter(
            id=message["MessageId"],
            handle=message["ReceiptHandle"],
            body=message["Body"],
            size=len(message["Body"].encode()),
            reason=attributes.get(REASON, {}).get("StringValue") if is_refused else None,
            first_received=sent if received is None else min(sent, received),
            sent=sent,
            receives=int(system.get("ApproximateReceiveCount", "1")),
            attributes=_without_refusal(attributes),
            group=system.get("MessageGroupId"),
        )
        key = attributes.get(KEPT_IN, {}).get("StringValue") or ""
        return letter if letter.reason is None or not KEPT_KEY.fullmatch(key) else self._with_body(letter, key)

    def _with_body(self, letter: DeadLetter, key: str) -> DeadLetter:
        letter = letter._replace(kept_in=key)
        try:
            content = self._bucket.content(key)
            if content is None:
                return letter._replace(problem=f"{key} is gone: it was replayed before, or it expired")
            record = json.loads(content)["record"]
            body = record["body"]
            if NOT_OF_SQS.search(body):
                return letter._replace(problem="the body has characters that SQS does not take")
            return letter._replace(body=body, size=len(body.encode()), attributes=_attributes_of(record))
        except (StoreUnavailableError, ValueError, LookupError, TypeError, AttributeError) as error:
            return letter._replace(problem=f"{key} cannot be read: {error}")


def message_of(event: Posted) -> OutgoingMessage:
    """The message of an event. Its group is the board: every name of a board is also a valid name of a group."""
    filled_in = event.at_filled_in if isinstance(event.at_filled_in, str) else "true"
    attributes = {AT_FILLED_IN: _text(filled_in)} if event.at_filled_in else {}
    attributes |= {HISTORY: _text("true")} if event.history else {}
    return OutgoingMessage(event.body, attributes, event.board)


def is_history(record: Mapping[str, Any]) -> bool:
    """Whether the event also counts in periods that have closed."""
    return _attribute(record, HISTORY) == "true"


def at_filled_in(record: Mapping[str, Any]) -> bool | str:
    """Whether the event was posted without `at`; or the text of the `at` that all events of its batch got.

    That text is an instant such as `2026-11-21T10:15:00.000Z`. `parse_event` takes either.
    """
    value = _attribute(record, AT_FILLED_IN) or ""
    return value if value[:1].isdigit() else value == "true"


def refused_since(record: Mapping[str, Any]) -> int | None:
    """When the writer first received an event that it then refused; None if it was not refused before."""
    return _instant(_attribute(record, FIRST_RECEIVED))


def sent_at(record: Mapping[str, Any]) -> int | None:
    """When the message was sent to the queue, if known. A replay is a new message."""
    return _instant(record.get("attributes", {}).get("SentTimestamp"))


def first_received(record: Mapping[str, Any]) -> int | None:
    """When the writer first received the event, before all replays, if known."""
    attributes = record.get("attributes", {})
    received = _instant(attributes.get("ApproximateFirstReceiveTimestamp") or attributes.get("SentTimestamp"))
    return min((time for time in (received, refused_since(record)) if time is not None), default=None)


def _group_of(record: Mapping[str, Any]) -> str | None:
    group = record.get("attributes", {}).get("MessageGroupId")
    return group if isinstance(group, str) else None


def _attribute(record: Mapping[str, Any], name: str) -> str | None:
    value = record.get("messageAttributes", {}).get(name, {}).get("stringValue")
    return value if isinstance(value, str) else None


def _instant(text: str | None) -> int | None:
    """The time of an attribute; None if the text is no such number."""
    return int(text) if text and text.isdecimal() and len(text) <= _MAX_DIGITS else None


def _attributes_of(record: Mapping[str, Any]) -> Attributes:
    """A record's message attributes in the form of the SQS API, without those of an earlier refusal."""
    attributes: Attributes = {}
    for name, value in record.get("messageAttributes", {}).items():
        binary = value.get("binaryValue")
        content = {"StringValue": value["stringValue"]} if binary is None else {"BinaryValue": b64decode(binary)}
        attributes[name] = {"DataType": value["dataType"], **content}
    return _without_refusal(attributes)


def _without_refusal(attributes: Attributes) -> Attributes:
    return {name: value for name, value in attributes.items() if name not in (REASON, KEPT_IN, FIRST_RECEIVED)}


def _with_refusal(attributes: Attributes, refusal: Attributes) -> Attributes:
    """The attributes of a message and of its refusal, at most 10. Others are dropped, but never those of an event."""
    first = {name: value for name, value in attributes.items() if name in (AT_FILLED_IN, HISTORY)}
    others = [(name, value) for name, value in attributes.items() if name not in first]
    return {**first, **dict(others[: MAX_ATTRIBUTES - len(first) - len(refusal)]), **refusal}


def _received_at(instant: int | None) -> Attributes:
    """The attribute with the time at which an event was first received, if that is known."""
    return {} if instant is None else {FIRST_RECEIVED: {"DataType": "Number", "StringValue": str(instant)}}


def _text(text: str) -> dict[str, Any]:
    return {"DataType": "String", "StringValue": text}
