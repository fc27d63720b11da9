"""Notices lines that were posted before under the name of another file: rows without ids would count once more."""

import json
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

SUFFIX: Final = ".posted"
_MOST: Final = 100  # Records beside a file that are looked at


class Posted(NamedTuple):
    """What a record says: `Posted("runs.csv", 201, "9f…")` is that the first 201 lines of `runs.csv` were posted."""

    name: str
    line: int
    digest: str

    @property
    def source(self) -> str:
        """The name from which the ids of its rows were made, unless `--source` gave another."""
        return self.name.removesuffix(".gz")


def read_posted(record: Path, target: str | None) -> Posted | None:
    """What a record says; None if it is none of posted lines, or of another queue than `target` (None: of any)."""
    try:
        values = json.loads(record.read_text(encoding="utf-8"))
        mark, to = values["mark"], values.get("target", values.get("queue"))
        found = Posted(record.name.removesuffix(SUFFIX), int(mark["line"]), str(mark["digest"]))
        has_rows = mark["rows"] > mark["wrong"] and target in (None, to)
    except (OSError, ValueError, RecursionError, TypeError, LookupError, AttributeError):
        return None
    return found if has_rows else None


def posted_beside(file: Path, target: str | None) -> Iterator[Posted]:
    """What the records of other files in the folder of a file say."""
    records = sorted(file.parent.glob(f"*{SUFFIX}"))[:_MOST]
    found = (read_posted(one, target) for one in records if one.name != f"{file.name}{SUFFIX}")
    yield from (one for one in found if one is not None)


def same(lines: Iterable[bytes], candidates: Iterable[Posted], settings: Callable[[Posted], str]) -> list[Posted]:
    """The candidates with whose lines these begin. `settings` gives those with which the lines of one were read."""
    left = [(one, blake2b(settings(one).encode(), digest_size=16)) for one in candidates]
    found = []
    for number, line in enumerate(lines if left else (), start=1):
        for one, digest in left:
            digest.update(line.rstrip(b"\r\n") + b"\n")
            if number == one.line and digest.hexdigest() == one.digest:
                found.append(one)
        left = [each for each in left if each[0].line > number]
        if not left:
            break
    return found
