"""The inputs of the model of costs: the settings of a board, and its traffic."""

from dataclasses import dataclass
from math import erf, log
from random import Random
from typing import Final

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Family
from standings.domain.tiers.tier_path import FANOUT, Path, depth

SIGMA: Final = 1.2
"""The standard deviation of the logarithms of scores."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a board in `boards.toml`; all its metrics are alike."""

    windows: tuple[str, ...] = ("all", "day", "last-7-days")
    aggregate: str = "sum"
    ties: str = "member"
    metrics: int = 1
    shards: int = 1

    @property
    def toml(self) -> str:
        """The settings as text of a `boards.toml`."""
        windows = ", ".join(f'"{name}"' for name in self.windows)
        settings = f'aggregate = "{self.aggregate}", ties = "{self.ties}", windows = [{windows}]'
        lines = [f"metrics.points{n or ''} = {{ {settings} }}" for n in range(self.metrics)]
        return "\n".join(['[boards."*"]', f"shards = {self.shards}", *lines])

    @property
    def family(self) -> Family:
        """The family of a board with these settings."""
        (family,) = parse_boards(self.toml).families
        return family


@dataclass(frozen=True, slots=True)
class Traffic:
    """The traffic of a board.

    Scores are log-normal with a median; events change them by `amounts`, drawn evenly.
    - `batch`: events of the board that come together.
    - `active`: members from whom the events of a batch are drawn; None: all are of different members.
    - `daily`: events of a member per day, which decide how often one is its first in a period; None: never.
    - `improving`: the share of events that improve a `max` or `min`.
    - `fresh`: whether the members have no entries yet.
    """

    members: int = 200_000
    median: float = 400
    amounts: tuple[int, int] = (1, 100)
    batch: int = 500
    active: int | None = None
    daily: float | None = None
    improving: float = 0.5
    fresh: bool = False

    def score(self, rng: Random) -> int:
        """Draw the score of a member."""
        return max(1, round(rng.lognormvariate(log(self.median), SIGMA)))

    def below(self, score: float) -> float:
        """Return the share of members with a lower score."""
        return 0.0 if score <= 0 else (1 + erf((log(score) - log(self.median)) / SIGMA / 2**0.5)) / 2

    def beside(self, node: Path) -> float:
        """Return the expected number of members that a node of a tree counts."""
        if not node:
            return self.members
        digits = depth(node[0])
        width = FANOUT ** (digits - len(node) + 1)
        first, last = _score_at(node, 0, digits), _score_at(node, FANOUT - 1, digits)
        low = min(first, last)
        return self.members * (self.below(low + width - 0.5) - self.below(low - 0.5))


def _score_at(node: Path, digit: int, digits: int) -> int:
    """Return the score at one end of a node, if the highest score comes first: digit 0 is the higher end."""
    number = 0
    for one in (*node[1:], *([digit] * (digits - len(node) + 1))):
        number = number * FANOUT + FANOUT - 1 - one
    return number
