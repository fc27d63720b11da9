"""A poller that invokes a function with the records of a DynamoDB stream, as Lambda does.

https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html
https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from tests.support.awslambda.batch_answers import Handler, invoke
from tests.support.awslambda.context import Context
from tests.support.awslambda.failure_records import OUT_OF_TRIES, TOO_OLD
from tests.support.awslambda.settings import StreamSettings

if TYPE_CHECKING:
    from random import Random

Record = dict[str, Any]
OnFailure = Callable[[list[Record], str], None]
"""Takes the records of a batch that is given up, and the condition for which it is."""
RETENTION: Final = 24 * 3600
"""Seconds for which a stream keeps a record."""


class Source(Protocol):
    """A shard: its records in order. It grows while the table changes."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: slice, /) -> list[Record]: ...


@dataclass
class Reader:
    """The position in one shard, and the attempts at that position.

    ``failures`` counts the failed attempts. ``ends`` are the positions where the parts of a split batch end, the
    nearest one last.
    """

    shard: Source
    position: int = 0
    failures: int = 0
    ends: list[int] = field(default_factory=list)

    def go_to(self, position: int) -> None:
        self.position, self.failures = position, 0
        while self.ends and self.ends[-1] <= position:
            self.ends.pop()

    def cut(self, size: int) -> list[Record]:
        """Return the next batch: the rest of a part, or up to ``size`` records."""
        end = self.ends[-1] if self.ends else self.position + size
        return self.shard[self.position : end]

    def split(self, count: int) -> None:
        """Split a batch of ``count`` records in halves."""
        if not self.ends:
            self.ends.append(self.position + count)
        self.ends.append(self.position + count // 2)


@dataclass
class StreamPoller:
    """Invokes a function with batches of every shard, with ReportBatchItemFailures.

    - The function reports sequence numbers. Delivery continues at the lowest one, with the rest of the batch. Without
      ``reports`` any answer means that all records are done.
    - An exception or an invalid answer fails the whole batch. With ``bisect`` such a batch is split in halves, down to
      single records. A split does not count as a retry.
    - By ``clock``, records older than ``max_record_age`` seconds are not sent: they go to ``on_failure``. The age is
      looked at first, then the retries. Without a clock, records do not age.
    - By ``clock``, records older than ``RETENTION`` are not in the stream any more: they are lost.
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
    max_record_age: int = -1
    bisect: bool = True
    reports: bool = True
    clock: Callable[[], float] | None = None
    on_failure: OnFailure | None = None
    replays: float = 0.0
    context: Callable[[], Context] = Context
    errors: list[BaseException] = field(default_factory=list)
    invocations: int = 0
    lost: int = 0
    """How many records the stream has dropped before they were delivered."""
    _readers: list[Reader] = field(init=False)

    def __post_init__(self) -> None:
        self._readers = [Reader(shard) for shard in self.shards]

    @classmethod
    def deployed(
        cls, settings: StreamSettings, handler: Handler, shards: Sequence[Source], **more: Any
    ) -> StreamPoller:
        """Return a poller with the settings of a template."""
        return cls(
            handler,
            shards,
            max_retries=settings.max_retries,
            max_record_age=settings.max_record_age,
            bisect=settings.bisects,
            reports=settings.reports,
            **more,
        )

    def poll(self) -> bool:
        """Deliver one batch of one shard. Return False if every shard is at its end."""
        ready = [reader for reader in self._readers if reader.position < len(reader.shard)]
        if not ready:
            return False
        reader = ready[0] if self.rng is None else self.rng.choice(ready)
        if not self._is_fresh(reader):
            return True
        size = self.batch_size
        if self.rng is not None and self.rng.random() < 0.5:
            size = self.rng.randint(1, size)
        self._deliver(reader, reader.cut(size))
        return True

    def drain(self, most: int = 100_000) -> int:
        """Deliver until every shard is at its end and return the number of batches. Fail after ``most`` batches."""
        for batches in range(most):
            if not self.poll():
                return batches
        left = sum(len(reader.shard) - reader.position for reader in self._readers)
        raise AssertionError(f"{left} records are left after {most} batches; last error: {self.errors[-1:]}")

    def _is_fresh(self, reader: Reader) -> bool:
        """Whether the next record may be delivered. If not, those that are too old are skipped."""
        if self.clock is None:
            return True
        times = [record["dynamodb"]["ApproximateCreationDateTime"] for record in reader.cut(self.batch_size)]
        gone = bisect_right(times, self.clock() - RETENTION)
        old = bisect_right(times, self.clock() - self.max_record_age) if self.max_record_age >= 0 else gone
        if gone:
            self.lost += gone
            reader.go_to(reader.position + gone)
        elif old:
            self._give_up(reader, old, TOO_OLD, None)
        return not old

    def _deliver(self, reader: Reader, records: list[Record]) -> None:
        numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
        self.invocations += 1
        failed = invoke(self.handler, records, self.context(), set(numbers))
        if isinstance(failed, BaseException):
            self.errors.append(failed)
            if self.bisect and len(records) > 1:
                reader.split(len(records))
            else:
                self._retry(reader, len(records), failed)
        elif failed and self.reports:
            done = min(map(numbers.index, failed))
            if done:
                reader.go_to(reader.position + done)
            self._retry(reader, len(records) - done, None)
        elif self.rng is None or self.rng.random() >= self.replays:
            reader.go_to(reader.position + len(records))

    def _retry(self, reader: Reader, count: int, error: BaseException | None) -> None:
        reader.failures += 1
        if self.max_retries >= 0 and reader.failures > self.max_retries and self._is_fresh(reader):
            self._give_up(reader, count, OUT_OF_TRIES, error)

    def _give_up(self, reader: Reader, count: int, condition: str, error: BaseException | None) -> None:
        records = reader.shard[reader.position : reader.position + count]
        if self.on_failure is None:
            raise AssertionError(f"{count} records were given up after {reader.failures} attempts") from error
        self.on_failure(records, condition)
        reader.go_to(reader.position + count)
