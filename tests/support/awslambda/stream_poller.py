"""Lambda's poller of a DynamoDB stream.

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
    """A shard: records in order, more of them as time goes by."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: slice, /) -> list[Record]: ...


@dataclass
class Reader:
    """How far one shard was read, and how the batch at that place has fared."""

    shard: Source
    position: int = 0
    failures: int = 0
    most: int | None = None

    def go_to(self, position: int) -> None:
        self.position, self.failures, self.most = position, 0, None


@dataclass
class StreamPoller:
    """Invokes a function with batches of every shard, with ReportBatchItemFailures.

    - The function reports sequence numbers: everything from the lowest one on comes again. An
      exception, or an answer that makes no sense, fails the whole batch.
    - A batch that fails whole is halved, down to single records, if ``bisect`` says so;
      halving costs no retry. A batch that fails at its first record more than ``max_retries``
      times (-1: never enough) is given to ``on_failure``, whole records, and passed over;
      without ``on_failure`` that raises. Progress within a batch begins the count anew.
    - With ``rng`` shards take turns at random, batches are of any size up to ``batch_size``,
      also between two attempts at the same place, and with the chance ``replays`` a batch that
      succeeded comes again, cut anew, because its success was not recorded.

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
        """Deliver one batch of one shard; false if there was none in any."""
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
        """Deliver until every shard is at its end; return in how many batches, fail beyond ``most``."""
        for batches in range(most):
            if not self.poll():
                return batches
        left = sum(len(reader.shard) - reader.position for reader in self._readers)
        raise AssertionError(f"{left} records are left after {most} batches; {self.errors[-1:]}")

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
