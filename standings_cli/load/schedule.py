"""When the events of a load test are due, and what was sent."""

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Final, TypeVar

from standings.aws.sqs.messages import MAX_ENTRIES
from standings_cli.load.traffic import Activity

TOLERANCE_S: Final = 1.0  # the delay up to which events count as sent when they were due
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


@dataclass
class Summary:
    """Counts of events, times in seconds. `asked` is the requested rate, `rate` the one that the queue accepted."""

    run: str
    asked: float
    due: int
    sent: int = 0
    distinct: int = 0
    duplicates: int = 0
    late: int = 0
    seconds: float = 0.0
    rate: float = 0.0
    most_behind: float = 0.0

    @property
    def kept_up(self) -> bool:
        """Whether all events were sent when they were due."""
        return self.most_behind <= TOLERANCE_S and self.sent == self.due

    def count(self, batch: Iterable[tuple[int, Activity]]) -> None:
        """Count a batch that the queue has accepted."""
        for _, activity in batch:
            self.sent += 1
            # New numbers come in order: a lower one is a duplicate.
            if activity.number < self.distinct:
                self.duplicates += 1
            else:
                self.distinct += 1
                self.late += activity.behind > 0

    def finish(self, seconds: float, most_behind: float) -> None:
        """Add the times."""
        self.seconds = round(seconds, 2)
        self.rate = round(self.sent / self.seconds, 1) if self.seconds else 0.0
        self.most_behind = round(most_behind, 2)

    def print(self, *, as_json: bool) -> None:
        """Print the summary."""
        if as_json:
            print(json.dumps(asdict(self) | {"kept_up": self.kept_up}))
            return
        print(
            f"sent {self.sent:,} events in {self.seconds:.1f} s, {self.rate:,.1f} a second: "
            f"{self.distinct:,} distinct, {self.duplicates:,} duplicates, {self.late:,} late (run {self.run})"
        )
        if not self.kept_up:
            unsent = self.due - self.sent
            missing = f"; {unsent:,} of {self.due:,} were not sent" if unsent else ""
            print(
                f"the rate of {self.asked:g} events/s was not reached: events were sent up to {self.most_behind:.1f} s "
                f"after they were due{missing}"
            )
