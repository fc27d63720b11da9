"""Rounds numbers to the decimals that their metric keeps."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from standings.client.errors import ApiError
from standings.domain.boards import Boards
from standings.domain.scoring import rounded

if TYPE_CHECKING:
    from standings.client.api import Api


@dataclass
class Rounding:
    """Rounds by a `boards.toml`, or by what the API says of a board: `Rounding(None, lambda: connection.api)`."""

    boards: Boards | None
    api: "Callable[[], Api]"
    _known: dict[str, Mapping[str, int]] = field(default_factory=dict)

    def amount(self, amount: str, boards: Iterable[str], metric: str) -> str:
        """A number as these boards keep it: `0.30000000000000004` is `0.3`. It stays where no board has the metric.

        Boards that keep different numbers of decimals get the fewest. Raises ApiError and NoAnswerError.
        """
        decimals = [found for board in boards if (found := self._of(board).get(metric)) is not None]
        number = Decimal(amount)
        fewer = rounded(number, min(decimals)) if decimals else number
        return amount if fewer == number else f"{fewer:f}"

    def _of(self, board: str) -> Mapping[str, int]:
        """The decimals of a board's metrics: `{"points": 0, "km": 2}`."""
        if board not in self._known:
            self._known[board] = self._asked(board)
        return self._known[board]

    def _asked(self, board: str) -> Mapping[str, int]:
        if self.boards is not None:
            family = self.boards.family(board)
            return {} if family is None else {name: metric.precision for name, metric in family.metrics.items()}
        try:
            metrics = self.api().read("boards", board)["metrics"]
        except ApiError as error:
            if error.kind != "no-such-board":
                raise
            return {}
        return {metric["metric"]: metric["precision"] for metric in metrics}
