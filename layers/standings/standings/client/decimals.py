"""Rounds the numbers of an event to the decimals that their metrics keep."""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from standings.client.errors import BadArgument, NotFound
from standings.domain.boards import Boards
from standings.domain.coverage import BOARD_TTL_S
from standings.domain.events import RefusedEvent
from standings.domain.scoring import rounded
from standings.runtime.clock import Clock, TtlCache


class Decimals:
    """How many decimals the metrics of boards keep: by the definitions, or by what `definition` answers for a board."""

    def __init__(
        self, boards: Callable[[], Boards | None], definition: Callable[[str], Mapping[str, Any]], clock: Clock
    ) -> None:
        self._boards = boards
        self._definition = definition
        self._known: TtlCache[str, Mapping[str, int]] = TtlCache(clock, BOARD_TTL_S)

    def of(self, board: str) -> Mapping[str, int]:
        """The decimals of a board's metrics: `{"points": 0, "km": 2}`. None where there is no such board."""
        boards = self._boards()
        if boards is not None:
            family = boards.family(board)
            return {} if family is None else {name: metric.precision for name, metric in family.metrics.items()}
        return self._known.get_or_read(board, lambda: self._asked(board))

    def rounded(self, event: dict[str, Any]) -> dict[str, Any]:
        """The event with numbers as its boards keep them, the fewest decimals of all: 0.30000000000000004 is 0.3."""
        updates = event.get("updates")
        if updates is not None:
            return {**event, "updates": [self.rounded(update) for update in updates]}
        if "metrics" not in event or "board" not in event:
            return event
        named = event["board"]
        kept = [self.of(board) for board in ([named] if isinstance(named, str) else named)]
        return {**event, "metrics": {name: _rounded(name, number, kept) for name, number in event["metrics"].items()}}

    def _asked(self, board: str) -> Mapping[str, int]:
        try:
            return {metric["metric"]: metric["precision"] for metric in self._definition(board)["metrics"]}
        except NotFound:
            return {}
        except BadArgument as error:
            raise BadArgument(400, "bad-argument", f"round: {error.detail}") from None


def _rounded(metric: str, number: float | Decimal, kept: Sequence[Mapping[str, int]]) -> float | Decimal:
    decimals = [of_board[metric] for of_board in kept if metric in of_board]
    if isinstance(number, int) or not decimals:
        return number
    exact = Decimal(repr(number)) if isinstance(number, float) else number
    fewer = rounded(exact, min(decimals))
    return number if fewer == exact else fewer


_TOO_MANY_DIGITS: Final = re.compile(r"expected (at most [0-9]+ (significant digits|decimals)|a whole number), got")


def has_too_many_digits(error: Exception) -> bool:
    """Whether an event is refused for a number that could be rounded."""
    is_amount = isinstance(error, RefusedEvent) and error.rule == "amount"
    return is_amount and _TOO_MANY_DIGITS.search(str(error)) is not None
