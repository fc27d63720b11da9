"""What was posted of a file, kept beside it: how far the queue has taken all of it."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from standings_cli.post.rows import InputError, Mark


@dataclass(frozen=True, slots=True)
class Remembered:
    """Up to a mark all rows are on a queue, but for those that were wrong. Times are in milliseconds since 1970.

    `begun` is when the first row may have been sent, `written` when this was kept last. Where the posting is not
    `finished`, some rows behind the mark may have been sent too.
    """

    queue: str
    begun: int
    written: int
    mark: Mark
    finished: bool = False

    def at(self, mark: Mark, now: int, *, finished: bool = False) -> "Remembered":
        """The same, further on."""
        return replace(self, mark=mark, written=now, finished=finished)


def recall(path: Path) -> Remembered | None:
    """What was kept in a file; None where there is none. Raises InputError for what nobody has kept."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return Remembered(**{**kept, "mark": Mark(**kept["mark"])})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        text = f"{path} does not say what was posted ({error!r}); --again posts all, as if it were not there"
        raise InputError(text) from error


def keep(path: Path, remembered: Remembered) -> None:
    """Keep it in a file: after a crash that holds this, or what was kept before. Raises InputError."""
    beside = path.with_name(f"{path.name}.new")
    try:
        beside.write_text(json.dumps(asdict(remembered) | {"mark": remembered.mark._asdict()}) + "\n", encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise InputError(f"what is posted cannot be remembered ({error}); --state names another file") from error
