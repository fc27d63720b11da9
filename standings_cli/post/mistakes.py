"""Names what is wrong with rows: a mistake that many rows have, with the first of them alone."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

SHOWN: Final = 5
"""Rows that are named of those with the same mistake."""
_QUOTED: Final = re.compile(r"'[^']*'")


@dataclass
class Mistakes:
    """Says what is wrong with rows: `Mistakes("runs.csv", say).name(7, "at: expected text, got 7")`.

    Mistakes that differ in what a row has are the same. `close` says of each how many more rows have it.
    """

    file: str
    say: Callable[[str], None]
    _counts: Counter[str] = field(default_factory=Counter)

    def name(self, line: int, problem: str) -> None:
        """Say what is wrong with the row that begins in a line, unless enough rows with that mistake were named."""
        kind = _QUOTED.sub("…", problem.partition(", got ")[0])
        self._counts[kind] += 1
        if self._counts[kind] <= SHOWN:
            self.say(f"{self.file}:{line}: {problem}")

    def close(self) -> None:
        """Say how many rows were not named."""
        for kind, count in self._counts.items():
            if count > SHOWN:
                self.say(f"{self.file}: and {count - SHOWN:,} more: {kind}")
