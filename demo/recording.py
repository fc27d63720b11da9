"""Activity from a file of your own: CSV with the columns id, epoch_seconds and member."""

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

_TWICE = 0.1


class RecordingError(Exception):
    """A file that is no activity; the message says why."""


class Row(NamedTuple):
    """One line of a file."""

    id: str
    epoch_seconds: int
    member: str


def read(file: Path, last: int) -> list[Row]:
    """The last rows of a file; RecordingError for one that cannot be read."""
    try:
        with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
            found = list(csv.DictReader(lines))[-last:]
        rows = [Row(row["id"], int(row["epoch_seconds"]), row["member"]) for row in found]
    except KeyError as error:
        raise RecordingError(f"{file}: its first line names no column {error}") from error
    except (OSError, ValueError, TypeError, csv.Error) as error:
        raise RecordingError(f"{file}: {error}") from error
    if not rows:
        raise RecordingError(f"{file}: there is no activity in it")
    return rows


def recorded(rows: Sequence[Row], board: str, now: datetime, seed: int) -> Activity:
    """Rows as activity, one point each, shifted so that the latest was an hour ago.

    They are posted in random order, one in ten of them twice.
    """
    rng = Random(seed)
    shift = int((now - timedelta(hours=1)).timestamp()) - max(row.epoch_seconds for row in rows)
    all_of_them = (
        Event(row.id, datetime.fromtimestamp(row.epoch_seconds + shift, UTC), (Share(row.member, 1),)) for row in rows
    )
    events = tuple(event for event in all_of_them if model.acceptance_is_settled(event.at, now, MAX_RUN_LENGTH))
    messages = [message(rng, board, event) for event in events for _ in range(1 + (rng.random() < _TWICE))]
    rng.shuffle(messages)
    return Activity(tuple({event.shares[0].member: None for event in events}), events, tuple(messages))
