"""Writes the profiles of a file, and records beside it how far it has come.

A profile that is written twice is as if it were written once, so an interruption costs a few requests.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from standings_cli import resume
from standings_cli.post.source import STDIN, InputError, Lines, Source
from standings_cli.profiles.rows import Row, read_rows
from standings_cli.stack.errors import ApiError
from standings_cli.terminal import DIFFERS, OK, Meter

AT_ONCE: Final = 8
_BATCH: Final = 64

Put = Callable[[str, dict[str, Any]], Any]
"""Sets the fields of a member's profile. Raises ApiError."""


@dataclass
class Loading:
    """Loads a file into the stack at an address. `state` is the file that says how far; standard input has none."""

    name: str
    put: Put
    is_csv: bool
    stack: str
    state: Path | None
    again: bool = False
    written: int = 0
    wrong: int = 0

    def load(self) -> int:
        """Write every profile that was not written before, and return the exit status.

        A row that is refused is named and passed over. ApiError if the stack does not answer: run it again.
        """
        with resume.locked(self.state, "--state"):
            return self._load()

    def _load(self) -> int:
        source = Source(self.name)
        lines, rows = self._rows(source)
        with Meter(f"loading {self.name}", 1.0) as meter, ThreadPoolExecutor(AT_ONCE) as pool:
            done = self._skip(rows, lines)
            if done is None:
                meter.say(f"{self.name} has changed: loading it from the start; a profile may be written again")
                source = Source(self.name)
                lines, rows = self._rows(source)
            elif done:
                meter.say(f"the first {done:,} lines were loaded before")
            while batch := list(islice(rows, _BATCH)):
                wrong = sorted(found for some in pool.map(self._refused, _by_member(batch)) for found in some)
                for line, problem in wrong:
                    meter.say(f"{self.name}:{line}: {problem}")
                self.wrong += len(wrong)
                self.written += len(batch) - len(wrong)
                self._save(lines, self.wrong - batch[-1].is_half)
                meter.move(source.share, f"{self.written:,} profiles")
        return DIFFERS if self.wrong else OK

    def _rows(self, source: Source) -> tuple[Lines, Iterator[Row]]:
        lines = Lines(source.lines(), str(self.is_csv), may_grow=source.may_grow)
        return lines, read_rows(lines, is_csv=self.is_csv)

    def _refused(self, rows: list[Row]) -> list[tuple[int, str]]:
        """Write rows one after the other, and return the lines of those that cannot be, with the reasons."""
        return [(row.line, problem) for row in rows if (problem := row.problem or self._problem(row))]

    def _problem(self, row: Row) -> str:
        try:
            self.put(row.member, row.fields)
        except ApiError as error:
            if error.is_temporary or error.kind not in ("bad-argument", "bad-body"):
                raise
            return str(error)
        return ""

    def _skip(self, rows: Iterator[Row], lines: Lines) -> int | None:
        """Pass over what was loaded before, and return the last line of it; None if that has changed."""
        saved = None if self.state is None or self.again else resume.load(self.state, "loaded rows")
        if saved is None:
            return 0
        try:
            # Records of version 0.2 name no stack and no refused rows.
            stack, line, digest, wrong = saved.get("stack"), int(saved["line"]), saved["digest"], saved.get("wrong", 0)
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"{self.state}: expected a record of loaded rows, got {error!r}: --again starts over"
            ) from error
        if stack != self.stack:
            told = f"{self.state}: expected a record of the stack {self.stack}, got one of {stack or 'an unknown one'}"
            raise InputError(f"{told}: use --state for another file, or --again to start over")
        while lines.number < line and next(rows, None) is not None:
            pass
        if (lines.number, lines.digest.hexdigest()) != (line, digest):
            return None
        self.wrong = wrong
        return line

    def _save(self, lines: Lines, wrong: int) -> None:
        if self.state is None:
            return
        said = {"stack": self.stack, "line": lines.number, "digest": lines.digest.hexdigest(), "wrong": wrong}
        resume.save(self.state, said, "--state")


def _by_member(batch: list[Row]) -> list[list[Row]]:
    """The rows of each member, in order, so that two of one member do not overtake each other."""
    found: dict[str, list[Row]] = {}
    for row in batch:
        found.setdefault(row.member, []).append(row)
    return list(found.values())


def state_of(name: str, given: str | None) -> Path | None:
    """Where the state of a file is kept; None for standard input."""
    if name == STDIN:
        return None
    return Path(given or f"{name}.loaded")


def say(loading: Loading) -> None:
    """Print what came of it."""
    print(f"wrote {loading.written:,} profiles of {loading.name}", end="")
    print(f"; rows skipped: {loading.wrong:,}" if loading.wrong else "", flush=True)
    if loading.wrong:
        print("correct the rows that are named above, then load them again", file=sys.stderr)
