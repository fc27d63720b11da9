"""A poller that invokes a function with the records of a DynamoDB stream, as Lambda does.

https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html
https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tests.support.awslambda.batch_answers import Handler, invoke
from tests.support.awslambda.context import Context

if TYPE_CHECKING:
    from random import Random

Record = dict[str, Any]
OnFailure = Callable[[list[Record]], None]


class Source(Protocol):
    """A shard: its records in order. It grows while the table changes."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: slice, /) -> list[Record]: ...


@dataclass
class Reader:
    """The position in one shard, and the attempts at that position.

    ``failures`` counts the failed attempts. ``most`` is the size to which the batch was halved.
    """

    shard: Source
    position: int = 0
    failures: int = 0
    most: int | None = None

    def go_to(self, position: int) -> None:
        self.position, self.failures, self.most = position, 0, None


@dataclass
class StreamPoller:
    """Invokes a function with batches of every shard, with ReportBatchItemFailures.

    - The function reports sequence numbers. Delivery continues at the lowest one.
    - An exception or an invalid answer fails the whole batch. With ``bisect`` such a batch is halved, down to single
      records. Halving does not count as a retry.
    - A batch that fails at its first record more than ``max_retries`` times goes to ``on_failure`` and is skipped;
      without ``on_failure`` the poller raises. -1 retries without limit. Progress within a batch resets the count.
    - With ``rng`` the shards take turns at random, and the size of a batch varies up to ``batch_size``, also between
      two attempts at the same position. With probability ``replays`` a batch that succeeded is delivered again, cut
      differently, because its success was not recorded.

    ``shards`` may be an engine's ``stream(table)`` or a ``LocalStream``.
    """

    handler: Handler
    shards: Sequence[Source]
    batch_size: int = 100
    rng: Random | None = None
    max_retries: int = 20
    bisect: bool = True
    on_failure: OnFailure | None = None
    replays: float = 0.0
    context: Callable[[], Context] = Context
    errors: list[BaseException] = field(default_factory=list)
    invocations: int = 0
    _readers: list[Reader] = field(init=False)

    def __post_init__(self) -> None:
        self._readers = [Reader(shard) for shard in self.shards]

    def poll(self) -> bool:
        """Deliver one batch of one shard. Return False if every shard is at its end."""
        ready = [reader for reader in self._readers if reader.position < len(reader.shard)]
        if not ready:
            return False
        reader = ready[0] if self.rng is None else self.rng.choice(ready)
        size = reader.most or self.batch_size
        if self.rng is not None and self.rng.random() < 0.5:
            size = self.rng.randint(1, size)
        records = reader.shard[reader.position : reader.position + size]
        self._deliver(reader, records)
        return True

    def drain(self, most: int = 100_000) -> int:
        """Deliver until every shard is at its end and return the number of batches. Fail after ``most`` batches."""
        for batches in range(most):
            if not self.poll():
                return batches
        left = sum(len(reader.shard) - reader.position for reader in self._readers)
        raise AssertionError(f"{left} records are left after {most} batches; last error: {self.errors[-1:]}")

    def _deliver(self, reader: Reader, records: list[Record]) -> None:
        numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
        self.invocations += 1
        failed = invoke(self.handler, records, self.context(), set(numbers))
        if isinstance(failed, BaseException):
            self.errors.append(failed)
            if self.bisect and len(records) > 1:
                reader.most = len(records) // 2
            else:
                self._retry(reader, len(records), failed)
        elif failed:
            done = min(map(numbers.index, failed))
            if done:
                reader.go_to(reader.position + done)
            self._retry(reader, len(records) - done, None)
        elif self.rng is None or self.rng.random() >= self.replays:
            reader.go_to(reader.position + len(records))

    def _retry(self, reader: Reader, count: int, error: BaseException | None) -> None:
        reader.failures += 1
        if self.max_retries < 0 or reader.failures <= self.max_retries:
            return
        records = reader.shard[reader.position : reader.position + count]
        if self.on_failure is None:
            raise AssertionError(f"{count} records were given up after {reader.failures} attempts") from error
        self.on_failure(records)
        reader.go_to(reader.position + count)
