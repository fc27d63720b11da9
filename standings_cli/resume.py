"""Records of how far a file was posted, loaded or written: what an interrupted command goes on from.

A record is a JSON object beside the file. It names the stack, so that nobody goes on with another one.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from standings_cli.files import InputError

try:
    import fcntl
except ImportError:  # on Windows two runs at once are not noticed
    fcntl = None  # type: ignore[assignment]


def load(path: Path, what: str) -> dict[str, Any] | None:
    """Read a record; None if there is none. InputError for another file; `what` says what the record is of."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: expected a record of {what}, got {error!r}: --again starts over") from error
    if not isinstance(record, dict):
        raise InputError(f"{path}: expected a record of {what}, got {record!r}: --again starts over")
    return record


def save(path: Path, record: Mapping[str, Any], option: str) -> None:
    """Write a record. After a crash the file holds this one or the one before. `option` names another file."""
    new = path.with_name(f"{path.name}.new")
    try:
        new.write_text(json.dumps(record) + "\n", encoding="utf-8")
        new.replace(path)
    except OSError as error:
        raise InputError(f"cannot record how far it is ({error}): name another file with {option}") from error


@contextmanager
def locked(path: Path | None, option: str) -> Iterator[None]:
    """Keep the record for this run alone. InputError if another run has it. The lock ends with the process.

    `option` names another file. Standard input has no record, and needs no lock.
    """
    if fcntl is None or path is None:
        yield
        return
    lock = path.with_name(f"{path.name}.lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise InputError(f"cannot record how far it is ({error}): name another file with {option}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise InputError(f"{path}: another run is at work on it: wait until it ends") from error
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)
