"""The file beside a posted file that records how far the queue has accepted it."""

from dataclasses import asdict, dataclass
from pathlib import Path

from standings_cli import resume
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
        values = resume.load(path, "posted rows")
        return None if values is None else Checkpoint(**{**values, "mark": Mark(**values["mark"])})
    except (TypeError, KeyError) as error:
        raise InputError(f"{path}: expected a record of posted rows, got {error!r}: --again starts over") from error


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint. Raises InputError."""
    resume.save(path, asdict(checkpoint) | {"mark": checkpoint.mark._asdict()}, "--state")
