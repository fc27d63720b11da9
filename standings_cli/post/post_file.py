"""Posts the rows of a file, and remembers beside it how far the queue has taken them."""

import gzip
import json
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from standings.aws.sqs.sender import OutgoingMessage, batches
from standings_cli.post.checkpoint import Remembered, keep, recall
from standings_cli.post.outbox import NotTakenError, Outbox
from standings_cli.post.rows import InputError, Mark, Reading, Row
from standings_cli.stack.connection import Connection
from standings_cli.terminal.exit_status import DIFFERS, INTERRUPTED, OK, UNREACHABLE
from standings_cli.terminal.progress import Meter

STDIN: Final = "-"
SAFE_MS: Final = 29 * 86_400_000
"""How long ago an event may have been sent for it to be sent again: receipts are kept for 30 days."""


@dataclass
class _Source:
    """A file, or standard input, and how far it was read."""

    name: str
    position: int = 0
    size: int | None = None

    def lines(self) -> Iterator[bytes]:
        """Its lines from the start. Raises InputError where it cannot be read."""
        try:
            if self.name == STDIN:
                yield from sys.stdin.buffer
                return
            with Path(self.name).open("rb") as file:
                self.size = os.fstat(file.fileno()).st_size
                for line in gzip.GzipFile(fileobj=file) if self.name.endswith(".gz") else file:
                    self.position = file.tell()
                    yield line
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{self.name} cannot be read: {error}") from error


@dataclass
class FilePosting:
    """The rows of a file on their way to the queue. `again` and `anyway` are the options of that name."""

    name: str
    reading: Reading
    state: str | None = None
    again: bool = False
    anyway: bool = False
    as_json: bool = False
    now: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    _begun: float = field(default_factory=time.monotonic)
    _read: Mark = field(default_factory=Mark)
    """The place behind the last row that was read."""

    _before: int = 0
    _posted: int = 0

    def __post_init__(self) -> None:
        self._source = _Source(self.name)
        self._state = None if self.name == STDIN else Path(self.state or f"{self.name}.posted")

    def print(self) -> int:
        """Print what would be sent."""
        for message, _ in self._good(self._rows(), _say):
            print(message.body)
            self._posted += 1
        _say(f"events: {self._posted:,}; rows left out, being none: {self._read.wrong:,}")
        return DIFFERS if self._read.wrong else OK

    def post(self, connection: Connection) -> int:
        """Post what was not posted before; the exit status."""
        queue = connection.queue_url
        with Meter(f"posting {self.name}", 1.0) as meter:
            remembered, rows = self._begin(queue, meter)
            outbox = Outbox(connection.client("sqs"), queue)
            # Rows that the queue itself has refused, beside those that cannot be read as events.
            refused_rows = remembered.mark.wrong - self._read.wrong
            status = None
            good = self._noted(self._good(rows, meter.say), remembered)
            sending = outbox.delivered(batches(good, itemgetter(0)), _messages)
            try:
                with closing(sending):
                    for batch, refused in sending:
                        for position, why in refused.items():
                            meter.say(f"{self._where(batch[position][1])}: the queue refuses it: {why}")
                        refused_rows += len(refused)
                        self._posted += len(batch) - len(refused)
                        mark = batch[-1][1].mark
                        remembered = remembered.at(mark._replace(wrong=mark.wrong + refused_rows), self.now())
                        self._keep(remembered)
                        meter.move(self._share(), f"{self._posted:,} events")
                mark = self._read._replace(wrong=self._read.wrong + refused_rows)
                remembered = remembered.at(mark, self.now(), finished=True)
                self._keep(remembered)
            except NotTakenError as error:
                status = UNREACHABLE
                meter.say(
                    f"standings: the queue has not taken all rows after line {remembered.mark.line} of "
                    f"{self.name}: {error}; {self._how_to_go_on()}"
                )
            except KeyboardInterrupt:
                status = INTERRUPTED
                meter.say(f"stopped after line {remembered.mark.line}; {self._how_to_go_on()}")
        self._summarise(remembered)
        return status if status is not None else DIFFERS if remembered.mark.wrong else OK

    def _begin(self, queue: str, meter: Meter) -> tuple[Remembered, Iterator[Row]]:
        """What is posted already, as far as that can be known, and the rows behind it."""
        rows = self._rows()
        known = self._known()
        now = self.now()
        remembered = Remembered(queue, now, now, Mark())
        if known is not None and known.queue == queue and now - known.begun < SAFE_MS:
            remembered = Remembered(queue, known.begun, now, Mark())
        if known is not None and not self.again:
            if known.queue != queue:
                raise InputError(
                    f"{self._state} is of another queue, {known.queue}: --state names a file for this one, "
                    "--again starts over"
                )
            if not known.finished:
                self._refuse_if_old(known.written, f"was interrupted, and some rows after line {known.mark.line} may")
            meter.move(0, "reading what was posted before")
            if self._skip(rows, known.mark):
                self._before = known.mark.rows
                remembered = known.at(known.mark, now)
                if self._before and not known.finished:
                    meter.say(f"{self._before:,} rows were posted before; going on after line {known.mark.line}")
            elif known.mark.line:
                self._refuse_if_old(known.begun, "has changed, and rows of it may")
                meter.say(
                    f"{self.name} is not what it was up to line {known.mark.line}, or read in another way: "
                    "posting from the start; what was counted counts once"
                )
                rows = self._rows()
                self._read = Mark()
        return remembered, rows

    def _known(self) -> Remembered | None:
        if self._state is None:
            return None
        try:
            return recall(self._state)
        except InputError:
            if self.again:
                return None
            raise

    def _refuse_if_old(self, then: int, what: str) -> None:
        days = (self.now() - then) // 86_400_000
        if self.now() - then > SAFE_MS and not self.anyway:
            raise InputError(
                f"{self.name} {what} have been sent {days} days ago: the receipts that keep an event from "
                "counting twice are gone after 30 days. Look at what was counted; --anyway goes on, --again posts all"
            )

    def _skip(self, rows: Iterator[Row], mark: Mark) -> bool:
        """Pass the rows up to a mark; false where they are not those that were there."""
        while self._read.line < mark.line:
            row = next(rows, None)
            if row is None:
                return False
            self._read = row.mark
        return (self._read.line, self._read.digest) == (mark.line, mark.digest)

    def _rows(self) -> Iterator[Row]:
        return self.reading.rows(self._source.lines(), self.now)

    def _good(self, rows: Iterable[Row], say: Callable[[str], None]) -> Iterator[tuple[OutgoingMessage, Row]]:
        """The rows that have a message; the others are named."""
        for row in rows:
            self._read = row.mark
            if row.message is None:
                say(f"{self._where(row)}: {row.wrong}")
            else:
                yield row.message, row

    def _noted(
        self, good: Iterable[tuple[OutgoingMessage, Row]], remembered: Remembered
    ) -> Iterator[tuple[OutgoingMessage, Row]]:
        """The same rows, the first once it is remembered that some may have been sent."""
        for number, row in enumerate(good):
            if not number:
                self._keep(remembered)
            yield row

    def _where(self, row: Row) -> str:
        return f"{self.name}:{row.line}"

    def _keep(self, remembered: Remembered) -> None:
        if self._state is not None:
            keep(self._state, remembered)

    def _share(self) -> float:
        return self._source.position / self._source.size if self._source.size else 0.0

    def _how_to_go_on(self) -> str:
        if self._state is None:
            return "posted again, rows have the same ids and count once"
        return "the same command goes on there"

    def _summarise(self, remembered: Remembered) -> None:
        seconds = time.monotonic() - self._begun
        wrong = remembered.mark.wrong
        if self.as_json:
            summary = {"source": self.name, "posted": self._posted, "before": self._before, "wrong": wrong}
            print(json.dumps({**summary, "finished": remembered.finished, "seconds": round(seconds, 1)}))
            return
        if remembered.finished and not self._posted and self._before:
            text = f"all {remembered.mark.rows - wrong:,} events of {self.name} were posted before"
        else:
            text = f"posted {self._posted:,} events of {self.name} in {seconds:.1f} s"
            text += f", {self._before:,} rows were posted before" if self._before else ""
        print(text + (f"; rows left out, being no events: {wrong:,}" if wrong else ""))
        if self._posted:
            _say("what the writer refuses shows with `standings dlq list`")


def _messages(batch: Sequence[tuple[OutgoingMessage, Any]]) -> list[OutgoingMessage]:
    return [message for message, _ in batch]


def _say(text: str) -> None:
    print(text, file=sys.stderr)
