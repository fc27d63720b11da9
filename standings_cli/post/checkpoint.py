"""The file beside a posted file that records how far the queue has accepted it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from standings_cli.post.rows import Mark
from standings_cli.post.source import InputError


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Every row up to `mark` is on `queue`, except the wrong ones. Times are in milliseconds since 1970.

    `begun` is the earliest time at which the first row may have been sent, `written` the time of this checkpoint.
    Unless the posting is `finished`, some rows after the mark may have been sent too.
    """

    queue: str
    begun: int
    written: int
    mark: Mark
    finished: bool = False


def load_checkpoint(path: Path) -> Checkpoint | None:
    """Read a checkpoint; None if the file does not exist. Raises InputError for a file that is not a checkpoint."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return Checkpoint(**{**values, "mark": Mark(**values["mark"])})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        text = f"{path}: expected a record of posted rows, got {error!r}; --again ignores it and posts all rows"
        raise InputError(text) from error


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint. After a crash the file holds this one or the one before. Raises InputError."""
    new = path.with_name(f"{path.name}.new")
    try:
        new.write_text(json.dumps(asdict(checkpoint) | {"mark": checkpoint.mark._asdict()}) + "\n", encoding="utf-8")
        new.replace(path)
    except OSError as error:
        raise InputError(f"cannot record what is posted ({error}): name another file with --state") from error
