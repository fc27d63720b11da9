"""Reads files of rows, and keeps a command's progress in a record next to the file: the command continues from there.

A record is a JSON object: {"target": "https://…", "mark": {"line": 40, "rows": 39, "wrong": 0, "digest": "9f…"}}.
`target` is the queue, API or ranking of the first run, so that nobody continues with another one. The rest is the
place at which the next run begins.
"""

import csv
import gzip
import json
import os
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from standings_cli.stack.errors import InputError

try:
    import fcntl
except ImportError:  # on Windows two runs at once are not noticed
    fcntl = None  # type: ignore[assignment]

STDIN: Final = "-"
_HALF: Final = "the last line has no line end, so it may be half-written: end it, then run the same command again"


@dataclass
class Source:
    """A file, or standard input: `Source("runs.csv.gz")`, `Source("-")`. `position` of its `size` bytes have been read.

    A name that ends in `.gz` is a file packed with gzip, whose bytes are counted as they are on disk.
    """

    name: str
    position: int = 0
    size: int | None = None

    def lines(self) -> Iterator[bytes]:
        """Yield the lines from the start, each with its line end. Raises InputError if the file cannot be read."""
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

    @property
    def is_repeatable(self) -> bool:
        """Whether it can be read twice: it is neither standard input nor a pipe."""
        return self.name != STDIN and not Path(self.name).is_fifo()

    @property
    def may_grow(self) -> bool:
        """Whether somebody may still write to it, so that its last line may be half of one."""
        return self.name != STDIN and not self.name.endswith(".gz")

    @property
    def share(self) -> float:
        """The share that has been read, from 0 to 1; 0 if the size is unknown."""
        return self.position / self.size if self.size else 0.0


class Mark(NamedTuple):
    """A place after a row: `Mark(40, 39, 0, "9f…")` is 40 lines, 39 rows, none of them wrong, and the lines' digest."""

    line: int = 0
    rows: int = 0
    wrong: int = 0
    digest: str = ""


class HalfLineError(Exception):
    """The last line of a file that may grow has no line end, so somebody may still be writing it."""


class Lines:
    """Decodes the lines of a stream: `for number, text in Lines(file, "jsonl").texts()`.

    `number` counts the lines so far. `digest` is that of `settings` and of these lines without their line ends: two
    runs that have the same number and digest have read the same lines in the same way.
    """

    def __init__(
        self, stream: Iterable[bytes], settings: str, *, may_grow: bool = False, delimiter: str | None = None
    ) -> None:
        self._stream = iter(stream)
        self._delimiter = delimiter  # None: the header shows it
        self._may_grow = may_grow
        self._record: list[bytes] | None = None  # The lines of a record of CSV
        self._read_again: deque[bytes] = deque()
        self.number = 0
        self.digest = blake2b(settings.encode(), digest_size=16)

    def __iter__(self) -> "Lines":
        return self

    def __next__(self) -> str:
        line = self._read_again.popleft() if self._read_again else next(self._stream)
        if self._record is not None:
            self._record.append(line)
        return self._pass(line).decode().removeprefix("\ufeff" if self.number == 1 else "")

    def mark(self, rows: int, wrong: int) -> Mark:
        """The place after the last line that was read, with so many rows and wrong rows up to it."""
        return Mark(self.number, rows, wrong, self.digest.hexdigest())

    def texts(self) -> Iterator[tuple[int, str | Exception]]:
        """Yield each line that is not empty: `(3, '{"member": "u1"}')`, or `(3, UnicodeDecodeError(…))`."""
        while True:
            try:
                if text := next(self).strip(" \t\r\n"):
                    yield self.number, text
            except StopIteration:
                return
            except UnicodeDecodeError as error:
                yield self.number, error

    def table(self) -> tuple[list[str], Iterator[tuple[int, list[str] | Exception]]]:
        """The header of CSV, and each row that is not empty: `["member", "name"]`, then `(2, ["u1", "Ada"])`.

        A row with more or fewer cells than the header is a csv.Error; other errors are those of `records`. InputError
        if the header cannot be read.

        Without a delimiter, it is the one of `,`, `;`, `|` and a tab that divides the header into the most columns.
        """
        if self._delimiter is None and (first := next(self._stream, None)) is not None:
            self._read_again.append(first)
            self._delimiter = _delimiter_of(first)
        records = self.records()
        _, names = next(records, (1, list[str]()))
        if isinstance(names, Exception):
            raise InputError(f"the header cannot be read: {names}") from names

        def checked(cells: list[str] | Exception) -> list[str] | Exception:
            if isinstance(cells, Exception) or len(cells) == len(names):
                return cells
            return csv.Error(f"expected {len(names)} columns as in the header, got {len(cells)}")

        return names, ((line, checked(cells)) for line, cells in records if cells)

    def records(self) -> Iterator[tuple[int, list[str] | Exception]]:
        """Yield each record of CSV: the number of its first line, and its cells or what is wrong with it.

        A wrong record of several lines ends at its first line, and reading goes on with the next: its quote was never
        closed, and would swallow the rows after it. A record of several lines is wrong if it cannot be read, or has
        another number of cells than the first record. HalfLineError comes last, for a line that somebody may still be
        writing: it does not count as read.
        """
        width = None
        while True:
            number, digest, self._record = self.number, self.digest.copy(), []
            try:
                cells: list[str] | Exception = next(csv.reader(self, strict=True, delimiter=self._delimiter or ","))
            except StopIteration:
                return
            except (csv.Error, UnicodeDecodeError) as error:
                cells = error
            is_wrong = isinstance(cells, Exception) or len(cells) != (width or len(cells))
            record, self._record = self._record, None
            is_half = self._may_grow and not record[-1].endswith((b"\n", b"\r"))
            if is_half and (len(record) == 1 or not is_wrong):
                self.number, self.digest = number, digest
                yield number + 1, HalfLineError(_HALF)
                return
            if is_wrong and len(record) > 1:
                self.number, self.digest = number, digest
                self._pass(record[0])
                self._read_again.extendleft(reversed(record[1:]))
            if width is None and isinstance(cells, list):
                width = len(cells)
            yield number + 1, cells

    def _pass(self, line: bytes) -> bytes:
        self.number += 1
        self.digest.update(line.rstrip(b"\r\n") + b"\n")
        return line


_DELIMITERS: Final = ",;\t|"


def _delimiter_of(header: bytes) -> str:
    """The delimiter that divides a header into the most columns, the first of those that do."""

    def columns(delimiter: str) -> int:
        try:
            return len(next(csv.reader([header.decode(errors="replace")], delimiter=delimiter)))
        except csv.Error:  # such as a column name that is too long
            return 0

    return max(_DELIMITERS, key=columns)


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Record:
    """The record of a command's progress: `Record(Path("runs.csv.posted"), "posted rows", "https://sqs…/queue")`.

    `of` says what is recorded, `target` for which queue, API or ranking, `option` how to name another file. Without a
    `path` (standard input) nothing is recorded.
    """

    path: Path | None
    of: str
    target: str
    option: str = "--state"

    def load(self, place: Callable[..., _T], *, again: bool = False) -> _T | None:
        """The place, made by calling `place` with the record's values by name; None if there is no record.

        InputError for another file, and for a record of another target; with `again` None.
        """
        if self.path is None:
            return None
        try:
            values = json.loads(self.path.read_text(encoding="utf-8"))
            target = values.pop("target" if "target" in values else "queue", None)  # as version 0.2 calls it
            made = place(**values)
            if target == self.target:
                return made
            got = f" for {self.target}, got one for {target}: use {self.option} for another file, or"
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError, TypeError, AttributeError) as error:
            got = f", got {error!r}:"
        if again:
            return None
        raise InputError(f"{self.path}: expected a record of {self.of}{got} --again starts over")

    def save(self, place: Mapping[str, Any]) -> None:
        """Write the place. After a crash the file holds this one or the one before. InputError if it cannot."""
        if self.path is None:
            return
        new = self.path.with_name(f"{self.path.name}.new")
        try:
            new.write_text(json.dumps({"target": self.target, **place}) + "\n", encoding="utf-8")
            new.replace(self.path)
        except OSError as error:
            raise self._unusable(error) from error

    def remove(self) -> None:
        """Remove the record, once the work is done."""
        if self.path is not None:
            self.path.unlink()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the record for this run. InputError if another run has locked it. The lock ends with the process."""
        if fcntl is None or self.path is None:
            yield
            return
        lock = self.path.with_name(f"{self.path.name}.lock")
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise self._unusable(error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise InputError(f"{self.path}: another run is at work on it: wait until it ends") from error
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
            os.close(descriptor)

    def _unusable(self, error: OSError) -> InputError:
        return InputError(f"cannot record how far it is ({error}): name another file with {self.option}")
