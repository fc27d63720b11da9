"""Invokes functions as Lambda does: with batches of a queue or of a stream, and answers that name what failed.

https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html
https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
"""

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.support.awslambda import settings
from tests.support.awslambda.context import Context, Killed
from tests.support.awslambda.failure_records import OUT_OF_TRIES, TOO_OLD
from tests.support.dynamodb.local import LocalStream

__all__ = ["Context", "Killed", "LocalStream", "Message", "StreamPoller"]

Handler = Callable[[dict[str, Any], Any], Any]
Record = dict[str, Any]

# ---- answers


def failed_ids(answer: Any, known: set[str]) -> set[str]:
    """Return the ids that an answer of ours reports as failed. For Lambda, any other answer fails the whole batch."""
    assert answer.keys() == {"batchItemFailures"}, answer
    failed = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
    assert failed <= known, answer
    return failed


# ---- messages of a queue

ARN: Final = "arn:aws:sqs:us-east-1:000000000000:ActivityQueue"


@dataclass
class Message:
    """A message, and how often it was received. Times are milliseconds since 1970."""

    body: str
    attributes: Mapping[str, Mapping[str, Any]]
    sent: int
    message_id: str
    received: int = 0
    first_received: int = 0
    group: str = ""


def _event_attribute(attribute: Mapping[str, Any]) -> dict[str, Any]:
    event_attribute: dict[str, Any] = {"stringListValues": [], "binaryListValues": []}
    for name, value in attribute.items():
        event_attribute[name[0].lower() + name[1:]] = value
    return event_attribute


def record_of(message: Message, arn: str = ARN) -> dict[str, Any]:
    attributes = {
        "ApproximateReceiveCount": str(message.received),
        "SentTimestamp": str(message.sent),
        "SenderId": "AIDAEXAMPLE",
        "ApproximateFirstReceiveTimestamp": str(message.first_received),
    }
    if message.group:
        attributes["MessageGroupId"] = message.group
    return {
        "messageId": message.message_id,
        "receiptHandle": f"{message.message_id}#{message.received}",
        "body": message.body,
        "attributes": attributes,
        "messageAttributes": {name: _event_attribute(value) for name, value in message.attributes.items()},
        "md5OfBody": hashlib.md5(message.body.encode(), usedforsecurity=False).hexdigest(),
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
        "awsRegion": "us-east-1",
    }


# ---- the stream


@dataclass
class Reader:
    """The position in one shard, and how often the records there were tried."""

    shard: Any
    position: int = 0
    tries: int = 0
    ends: list[int] = field(default_factory=list)
    """Where the parts of a split batch end, the nearest one last."""

    def go_to(self, position: int) -> None:
        self.position, self.tries = position, 0
        self.ends = [end for end in self.ends if end > position]

    def cut(self, size: int) -> list[Any]:
        """Return the next batch: the rest of a part, or up to `size` records."""
        records: list[Any] = self.shard[self.position : self.ends[-1] if self.ends else self.position + size]
        return records

    def halve(self, size: int) -> None:
        """A batch of so many records comes again in two parts."""
        self.ends = [*(self.ends or [self.position + size]), self.position + size // 2]


RETENTION: Final = 24 * 3600
"""Seconds for which a stream keeps a record."""


@dataclass
class StreamPoller:
    """Delivers the records of each shard of a stream, with the settings of its mapping in template.yaml.

    - The function reports sequence numbers. Delivery continues at the lowest one, with the rest of the batch.
    - A batch that fails as a whole is split in halves, down to single records. A split does not count as a retry.
    - By `clock`, records that are too old go to `on_failure`. The age is looked at first, then the retries.
    - By `clock`, records older than `RETENTION` are not in the stream any more: they are lost.

    The source may be an engine's `stream(table)` or a `LocalStream`.
    """

    handler: Handler
    source: Any
    batch_size: int = 100
    errors: list[BaseException] = field(default_factory=list)
    invocations: int = 0
    clock: Callable[[], float] = lambda: 0.0
    on_failure: Callable[[list[Record], str], None] | None = None
    """Takes the records of a batch that is given up, and the condition for which it is."""
    lost: int = 0
    """How many records the stream has dropped before they were delivered."""
    _readers: list[Reader] = field(init=False)

    def __post_init__(self) -> None:
        self._readers = [Reader(shard) for shard in self.source]

    def poll(self) -> bool:
        ready = [reader for reader in self._readers if reader.position < len(reader.shard)]
        if not ready:
            return False
        if self._is_fresh(ready[0]):
            self._deliver(ready[0], ready[0].cut(self.batch_size))
        return True

    def drain(self, most: int = 100_000) -> None:
        for _ in range(most):
            if not self.poll():
                return
        raise AssertionError(f"something is left after {most} batches; last error: {self.errors[-1:]}")

    def _invoke(self, records: list[Record], ids: list[str]) -> set[str] | None:
        """Invoke the function. Return the ids that failed, or None if the whole batch failed."""
        self.invocations += 1
        try:
            answer = self.handler({"Records": records}, Context())
        except (Exception, Killed) as error:  # noqa: BLE001 - Lambda does the same with every exception
            self.errors.append(error)
            return None
        return failed_ids(answer, set(ids))

    def _is_fresh(self, reader: Reader) -> bool:
        """Whether the next record may be delivered. If not, those that are too old are skipped."""
        times = [record["dynamodb"]["ApproximateCreationDateTime"] for record in reader.cut(self.batch_size)]
        gone = bisect_right(times, self.clock() - RETENTION)
        old = bisect_right(times, self.clock() - settings.STREAM.max_record_age)
        if gone:
            self.lost += gone
            reader.go_to(reader.position + gone)
        elif old:
            self._give_up(reader, old, TOO_OLD)
        return not old

    def _deliver(self, reader: Reader, records: list[Record]) -> None:
        numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
        failed = self._invoke(records, numbers)
        if failed is None and settings.STREAM.bisects and len(records) > 1:
            reader.halve(len(records))
            return
        done = 0 if failed is None else len(records)
        if failed and settings.STREAM.reports:
            done = min(map(numbers.index, failed))
        if done:
            reader.go_to(reader.position + done)
        if done < len(records):
            reader.tries += 1
            if 0 <= settings.STREAM.max_retries < reader.tries and self._is_fresh(reader):
                self._give_up(reader, len(records) - done, OUT_OF_TRIES)

    def _give_up(self, reader: Reader, count: int, condition: str) -> None:
        if self.on_failure is None:
            raise AssertionError(f"{count} records were given up after {reader.tries} attempts")
        self.on_failure(reader.shard[reader.position : reader.position + count], condition)
        reader.go_to(reader.position + count)
