"""When the events of a load test are due, and how late they are sent."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeVar

from standings.aws.sqs.sender import MAX_ENTRIES

TOLERANCE_S: Final = 1.0
"""Events that are sent later than this after they are due count as late."""

_TICK_S: Final = 0.05
_T = TypeVar("_T")


@dataclass
class Schedule:
    """Events due at `rate` a second, even if earlier ones were not accepted yet. None are sent after `seconds`.

    `most_behind` is the longest time in seconds from when an event was due until it was sent.
    """

    rate: float
    events: int
    seconds: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Any] = time.sleep
    most_behind: float = 0.0

    def batches(self, stream: Iterator[_T]) -> Iterator[list[tuple[int, _T]]]:
        """Return numbered items of a stream when they are due, at most ten at a time."""
        begun = self.clock()
        sent = 0
        while sent < self.events and (now := self.clock() - begun) < self.seconds + TOLERANCE_S:
            due = min(math.floor(now * self.rate), self.events) - sent
            if not due:
                self.sleep(max(_TICK_S, (sent + 1) / self.rate - now))
                continue
            self.most_behind = max(self.most_behind, now - (sent + 1) / self.rate)
            batch = list(enumerate(islice(stream, min(due, MAX_ENTRIES)), sent))
            sent += len(batch)
            yield batch
