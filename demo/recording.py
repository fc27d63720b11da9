"""Activity from a file of your own: CSV with the columns id, epoch_seconds and member."""

import csv
import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from demo import model
from demo.activity import LONGEST_RUN, Activity, message
from demo.model import Event, Share

_TWICE = 0.1


def recorded(file: Path, last: int, board: str, now: datetime, seed: int) -> Activity:
    """The last rows of a file, one point each, shifted so that the latest was an hour ago.

    They are posted in random order, one in ten of them twice.
    """
    rng = Random(seed)
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
        rows = list(csv.DictReader(lines))[-last:]
    shift = int((now - timedelta(hours=1)).timestamp()) - max(int(row["epoch_seconds"]) for row in rows)
    all_of_them = (
        Event(
            row["id"],
            datetime.fromtimestamp(int(row["epoch_seconds"]) + shift, UTC),
            (Share(row["member"], 1),),
        )
        for row in rows
    )
    events = tuple(event for event in all_of_them if model.acceptance_is_settled(event.at, now, LONGEST_RUN))
    messages = [message(rng, board, event) for event in events for _ in range(1 + (rng.random() < _TWICE))]
    rng.shuffle(messages)
    return Activity(tuple({event.shares[0].member: None for event in events}), events, tuple(messages))
