"""Reads activity from a CSV file with the columns id, epoch_seconds and member."""

import csv
import gzip
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import NamedTuple

from demo import model
from demo.activity import MAX_RUN_LENGTH, Activity, message
from demo.model import Event, Share

_DUPLICATES = 0.1


class RecordingError(Exception):
    """The file cannot be read as activity. The message says why."""


class Row(NamedTuple):
    """A row of the file."""

    id: str
    epoch_seconds: int
    member: str


def read(file: Path, last: int) -> list[Row]:
    """Return the last rows of a file; RecordingError if it cannot be read."""
    try:
        with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
            last_lines = list(csv.DictReader(lines))[-last:]
        rows = [Row(row["id"], int(row["epoch_seconds"]), row["member"]) for row in last_lines]
    except KeyError as error:
        raise RecordingError(
            f"{file}: expected the columns id, epoch_seconds and member in its first line, got no {error}"
        ) from error
    except (OSError, ValueError, TypeError, csv.Error) as error:
        raise RecordingError(f"{file}: {error}") from error
    if not rows:
        raise RecordingError(f"{file}: expected at least one row of activity, got none")
    return rows


def recorded(rows: Sequence[Row], board: str, now: datetime, seed: int) -> Activity:
    """Return the rows as activity of one point each, shifted in time so that the latest was an hour ago.

    The messages are in random order, and one in ten events has a duplicate.
    """
    rng = Random(seed)
    shift = int((now - timedelta(hours=1)).timestamp()) - max(row.epoch_seconds for row in rows)
    shifted = (
        Event(row.id, datetime.fromtimestamp(row.epoch_seconds + shift, UTC), (Share(row.member, 1),)) for row in rows
    )
    events = tuple(event for event in shifted if model.acceptance_is_settled(event.at, now, MAX_RUN_LENGTH))
    messages = [message(rng, board, event) for event in events for _ in range(1 + (rng.random() < _DUPLICATES))]
    rng.shuffle(messages)
    return Activity(tuple({event.shares[0].member: None for event in events}), events, tuple(messages))
