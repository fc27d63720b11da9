"""Posts the rows of a file, and records beside it how far the queue has accepted them."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from standings.aws.sqs import AT_FILLED_IN, OutgoingMessage, batches
from standings_cli.files import STDIN, InputError, Mark, Source
from standings_cli.post.outbox import NotTakenError, Outbox
from standings_cli.post.rows import Row, RowReader
from standings_cli.resume import Record
from standings_cli.stack.connection import Connection
from standings_cli.terminal import DIFFERS, INTERRUPTED, OK, UNREACHABLE, Meter, shown


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Every row up to `mark` is on the queue, except the wrong ones. Times are in milliseconds since 1970.

    `begun` is the earliest time at which the first row may have been sent, `written` the time of this checkpoint.
    Unless the posting is `finished`, some rows after the mark may have been sent too.
    """

    begun: int
    written: int
    mark: Mark
    finished: bool = False


def _checkpoint(mark: Mapping[str, Any], **others: Any) -> Checkpoint:
    """The checkpoint of a record."""
    return Checkpoint(mark=Mark(**mark), **others)


SAFE_MS: Final = 29 * 86_400_000  # an older event is not sent again: receipts are kept for 30 days

_NO_AT: Final = (
    "rows without `at` count as of now, in the windows of today too; --at TIME gives them one (totals from elsewhere "
    "belong in `all` alone: --at 2000-01-01T00:00:00Z)"
)


@dataclass
class FilePosting:
    """Posts a file. `again` and `anyway` are the options of that name; `state` is the record's file."""

    name: str
    reader: RowReader
    state: str | None = None
    again: bool = False
    anyway: bool = False
    as_json: bool = False
    now: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    _begun: float = field(default_factory=time.monotonic)
    _read: Mark = field(default_factory=Mark)  # the place after the last row that was read
    _before: int = 0
    _posted: int = 0
    _is_half: bool = False  # The last line may still be written
    _has_told: bool = False  # that rows have no `at`

    def __post_init__(self) -> None:
        self._source = Source(self.name)
        self._state = None if self.name == STDIN else Path(self.state or f"{self.name}.posted")

    def print(self) -> int:
        """Print the events instead of posting them."""
        for message, _ in self._valid(self._rows(), _say):
            print(message.body)
            self._posted += 1
        _say(f"events: {self._posted:,}; rows skipped: {self._read.wrong:,}")
        return DIFFERS if self._read.wrong or self._is_half else OK

    def post(self, connection: Connection) -> int:
        """Post the rows that were not posted before, and return the exit status."""
        record = Record(self._state, "posted rows", connection.queue_url)
        with record.locked():
            return self._post(connection, record)

    def _post(self, connection: Connection, record: Record) -> int:
        with Meter(f"posting {self.name}", 1.0) as meter:
            checkpoint, rows = self._begin(record, meter)
            outbox = Outbox(connection.client("sqs"), connection.queue_url)
            # Rows that the queue itself has refused, in addition to those that are not events.
            refused_rows = checkpoint.mark.wrong - self._read.wrong
            status = None
            messages = self._saving_first(self._valid(rows, meter.say), record, checkpoint)
            sending = outbox.delivered(batches(messages, itemgetter(0)), lambda batch: [item[0] for item in batch])
            try:
                with closing(sending):
                    for batch, refused in sending:
                        for position, reason in refused.items():
                            meter.say(f"{self._place(batch[position][1])}: the queue refuses it: {reason}")
                        refused_rows += len(refused)
                        self._posted += len(batch) - len(refused)
                        checkpoint = self._save(record, checkpoint, batch[-1][1].mark, refused_rows)
                        meter.move(self._source.share, f"{self._posted:,} events")
                checkpoint = self._save(record, checkpoint, self._read, refused_rows, finished=True)
            except NotTakenError as error:
                status = UNREACHABLE
                meter.say(
                    f"standings: the queue did not accept all rows after line {checkpoint.mark.line} of "
                    f"{self.name}: {error}; {self._advice()}"
                )
            except KeyboardInterrupt:
                status = INTERRUPTED
                meter.say(f"stopped after line {checkpoint.mark.line}; {self._advice()}")
        self._summarise(checkpoint)
        return status if status is not None else DIFFERS if checkpoint.mark.wrong or self._is_half else OK

    def _begin(self, record: Record, meter: Meter) -> tuple[Checkpoint, Iterator[Row]]:
        """Return the checkpoint to continue from, and the rows after it."""
        rows, now = self._rows(), self.now()
        saved = record.load(_checkpoint, again=self.again)
        begun = saved.begun if saved is not None and now - saved.begun <= SAFE_MS else now
        checkpoint = Checkpoint(begun, now, Mark())
        if saved is None or self.again:
            return checkpoint, rows
        if not saved.finished:
            self._refuse_if_old(saved.written, f"was interrupted, and some rows after line {saved.mark.line} may")
        meter.move(0, "reading the rows that were posted before")
        if self._skip(rows, saved.mark):
            self._before = saved.mark.rows
            if self._before and not saved.finished:
                meter.say(f"{self._before:,} rows were posted before; continuing after line {saved.mark.line}")
            return replace(saved, written=now, finished=False), rows
        self._refuse_if_old(saved.begun, "has changed, and rows of it may")
        meter.say(
            f"{self.name} or the options have changed since its first {saved.mark.line} lines were posted: "
            "posting from the start; rows that were counted before count once"
        )
        self._read = Mark()
        return checkpoint, self._rows()

    def _refuse_if_old(self, sent: int, happened: str) -> None:
        age = self.now() - sent
        if age > SAFE_MS and not self.anyway:
            raise InputError(
                f"{self.name} {happened} have been sent {age // 86_400_000} days ago: the receipts that keep an event "
                "from counting twice are deleted after 30 days. Check what was counted, then continue with --anyway, "
                "or post all rows with --again"
            )

    def _skip(self, rows: Iterator[Row], mark: Mark) -> bool:
        """Read the rows up to a mark, and return whether they are the same as when it was saved."""
        while self._read.line < mark.line:
            row = next(rows, None)
            if row is None:
                return False
            self._read = row.mark
        return (self._read.line, self._read.digest) == (mark.line, mark.digest)

    def _rows(self) -> Iterator[Row]:
        return self.reader.read(self._source.lines(), self.now, may_grow=self._source.may_grow)

    def _valid(self, rows: Iterable[Row], say: Callable[[str], None]) -> Iterator[tuple[OutgoingMessage, Row]]:
        """Return the rows that are events, and name the others."""
        for row in rows:
            self._read = row.mark
            self._is_half = row.is_half
            if row.message is None:
                say(f"{self._place(row)}: {row.problem}")
            else:
                if AT_FILLED_IN in row.message.attributes and self.reader.form == "csv" and not self._has_told:
                    self._has_told = True
                    say(f"{self._place(row)}: {_NO_AT}")
                yield row.message, row

    def _saving_first(
        self, messages: Iterable[tuple[OutgoingMessage, Row]], record: Record, checkpoint: Checkpoint
    ) -> Iterator[tuple[OutgoingMessage, Row]]:
        """Return the same messages; before the first, save that some may have been sent."""
        for number, message in enumerate(messages):
            if not number:
                _record(record, checkpoint)
            yield message

    def _place(self, row: Row) -> str:
        return f"{self.name}:{row.line}"

    def _save(
        self, record: Record, checkpoint: Checkpoint, mark: Mark, refused_rows: int, *, finished: bool = False
    ) -> Checkpoint:
        mark = mark._replace(wrong=mark.wrong + refused_rows)
        checkpoint = replace(checkpoint, mark=mark, written=self.now(), finished=finished)
        _record(record, checkpoint)
        return checkpoint

    def _advice(self) -> str:
        if self._state is None:
            return "post all rows again: they have the same ids and count once"
        return "run the same command again to continue"

    def _summarise(self, checkpoint: Checkpoint) -> None:
        seconds = time.monotonic() - self._begun
        wrong = checkpoint.mark.wrong
        if self.as_json:
            summary = {"source": self.name, "posted": self._posted, "before": self._before, "wrong": wrong}
            print(json.dumps({**summary, "finished": checkpoint.finished, "seconds": round(seconds, 1)}))
            return
        if checkpoint.finished and not self._posted and self._before:
            text = f"all {checkpoint.mark.rows - wrong:,} events of {self.name} were posted before"
        else:
            text = f"posted {self._posted:,} events of {self.name} in {seconds:.1f} s"
            text += f", {self._before:,} rows were posted before" if self._before else ""
        print(shown(text + (f"; rows skipped: {wrong:,}" if wrong else "")))
        if self._posted:
            _say("`standings dlq list` shows events that the writer refuses")


def _record(record: Record, checkpoint: Checkpoint) -> None:
    record.save({**asdict(checkpoint), "mark": checkpoint.mark._asdict()})


def _say(text: str) -> None:
    print(shown(text), file=sys.stderr)
