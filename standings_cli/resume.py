"""Goes on after an interruption: a record beside a file says how far a command has come with it.

A record is a JSON object. Its `target` says for which stack or list, so that nobody goes on with another one. The rest
is the place, such as {"target": "https://…", "mark": {"line": 40, "rows": 39, "wrong": 0, "digest": "9f…"}}.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from standings_cli.files import InputError

try:
    import fcntl
except ImportError:  # on Windows two runs at once are not noticed
    fcntl = None  # type: ignore[assignment]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Record:
    """The record of a command's work (`of`) for a target; `option` names another file. Standard input has no record."""

    path: Path | None
    of: str
    target: str
    option: str = "--state"

    def load(self, place: Callable[..., _T], *, again: bool = False) -> _T | None:
        """Return the place, made from the names in the record; None if there is no record.

        InputError for another file, and for a record of another target. With `again` these are as good as none.
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
        """Write the place. After a crash the file holds this one or the one before. Raises InputError."""
        if self.path is None:
            return
        new = self.path.with_name(f"{self.path.name}.new")
        try:
            new.write_text(json.dumps({"target": self.target, **place}) + "\n", encoding="utf-8")
            new.replace(self.path)
        except OSError as error:
            raise self._unusable(error) from error

    def remove(self) -> None:
        """Remove the record: the work is whole."""
        if self.path is not None:
            self.path.unlink()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep the record for this run alone. InputError if another run has it. The lock ends with the process."""
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
