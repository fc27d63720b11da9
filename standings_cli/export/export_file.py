"""Writes a list to a file, and records beside it how far it has come until it is whole.

A page's lines are on the disk before the record counts them. What lies beyond the record, be it whole lines or half of
one, is cut off and written again: so no line stands in the file twice.
"""

import csv
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from standings_cli import resume
from standings_cli.export.forms import Form
from standings_cli.export.pages import WholeList
from standings_cli.post.source import InputError
from standings_cli.terminal import Meter


@dataclass(frozen=True, slots=True)
class Record:
    """The first `size` bytes of the file hold the list up to `cursor`.

    `asked` says which list of which stack it is, and in which form.
    """

    asked: list[Any]
    size: int = 0
    cursor: str | None = None


def export_file(path: Path, form: Form, asked: list[Any], whole: WholeList, meter: Meter, *, again: bool) -> int:
    """Write the list to a file, or what it lacks, and return the number of its lines. Raises InputError."""
    record_path = path.with_name(f"{path.name}.exporting")
    with resume.locked(record_path, "--output"):
        return _export(path, record_path, form, asked, whole, meter, again=again)


def _export(
    path: Path, record_path: Path, form: Form, asked: list[Any], whole: WholeList, meter: Meter, *, again: bool
) -> int:
    try:
        record = Record(asked) if again else _begun(path, record_path, asked)
        if record.size:
            os.truncate(path, record.size)
            whole.written.update(_members(path, form))
            meter.say(f"{len(whole.written):,} lines were written before")
        else:
            _save(record_path, record)
        with path.open("ab" if record.size else "wb") as file:
            file.write(b"" if record.size else form.header.encode())
            for entries, cursor, share in whole.pages(record.cursor):
                file.write("".join(map(form.line, entries)).encode())
                file.flush()
                os.fsync(file.fileno())
                if cursor is not None:
                    _save(record_path, Record(asked, file.tell(), cursor))
                meter.move(share, f"{len(whole.written):,} lines")
        record_path.unlink()
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error}): name another file with --output") from error
    return len(whole.written)


def _begun(path: Path, record_path: Path, asked: list[Any]) -> Record:
    """Return the record of an interrupted export; a new one if there is no such file."""
    saved = resume.load(record_path, "an export")
    if saved is None:
        if path.exists():
            raise InputError(f"{path} exists already: name another file, or write it again with --again")
        return Record(asked)
    try:
        record = Record(**saved)
    except TypeError as error:
        raise InputError(
            f"{record_path}: expected a record of an export, got {error!r}: --again starts over"
        ) from error
    if record.asked != asked:
        text = f"{path} was begun as {' '.join(map(str, record.asked))}, not {' '.join(map(str, asked))}"
        raise InputError(f"{text}: use the same options to continue, or write it again with --again")
    if record.size and (not path.exists() or path.stat().st_size < record.size):
        raise InputError(f"{path} was cut since it was begun: write it again with --again")
    return record


def _members(path: Path, form: Form) -> list[str]:
    """Return the members that stand in the file."""
    try:
        return list(form.members(path))
    except (ValueError, KeyError, TypeError, csv.Error) as error:
        raise InputError(f"{path} was changed since it was begun ({error}): write it again with --again") from error


def _save(path: Path, record: Record) -> None:
    resume.save(path, asdict(record), "--output")
