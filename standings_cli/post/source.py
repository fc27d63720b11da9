"""Reads the lines of a file or of standard input."""

import gzip
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final

STDIN: Final = "-"


class InputError(Exception):
    """A file, option or event that cannot be posted. The message says why."""


@dataclass
class Source:
    """A file, packed or not, or standard input. `position` of its `size` bytes have been read."""

    name: str
    position: int = 0
    size: int | None = None

    def lines(self) -> Iterator[bytes]:
        """Return the lines from the start. Raises InputError if they cannot be read."""
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
    def share(self) -> float:
        """The share that has been read; 0 if the size is unknown."""
        return self.position / self.size if self.size else 0.0


class Lines:
    """Decoded lines, their number, and a digest of `settings` and the lines so far without their line ends."""

    def __init__(self, stream: Iterable[bytes], settings: str) -> None:
        self._stream = iter(stream)
        self.number = 0
        self.digest = blake2b(settings.encode(), digest_size=16)

    def __iter__(self) -> "Lines":
        return self

    def __next__(self) -> str:
        line = next(self._stream)
        self.number += 1
        self.digest.update(line.rstrip(b"\r\n") + b"\n")
        text = line.decode()
        return text.removeprefix("\ufeff") if self.number == 1 else text
