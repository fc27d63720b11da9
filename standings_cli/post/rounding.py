"""Rounds numbers of a file to the decimals that their metric keeps."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from standings.client.decimals import Decimals
from standings.domain.scoring import rounded


@dataclass(frozen=True, slots=True)
class Rounding:
    """Rounds numbers that are still text: `Rounding(decimals).amount("0.30000000000000004", ["b"], "km")` is `0.3`."""

    decimals: Decimals

    def amount(self, amount: str, boards: Iterable[str], metric: str) -> str:
        """A number as these boards keep it. It stays where none of them has the metric.

        Boards that keep different numbers of decimals get the fewest. Raises ApiError and NoAnswerError.
        """
        kept = [found for board in boards if (found := self.decimals.of(board).get(metric)) is not None]
        number = Decimal(amount)
        fewer = rounded(number, min(kept)) if kept else number
        return amount if fewer == number else f"{fewer:f}"
