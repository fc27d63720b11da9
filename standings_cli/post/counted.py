"""Waits until an event is counted and the ranking says so.

The writer leaves a receipt for every event that it counts, in the transaction that counts it, and sends one that it
refuses to the dead-letter queue. Rankings follow from the stream a moment later.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from standings_cli.stack.api import Api
from standings_cli.stack.errors import UNRANKED, ApiError, backoff

PATIENCE_S: Final = 60.0
_FIRST_PAUSE_S: Final = 0.2
_MAX_PAUSE_S: Final = 4.0
_LETTERS_AFTER: Final = 4  # looks for the receipt, before the dead letters are looked at as well


class RefusedError(Exception):
    """The writer has refused the event. The message is its reason."""


class NotYetError(Exception):
    """Patience is at its end. The message says what has not happened."""


@dataclass(frozen=True)
class Waiting:
    """Looks for an event's receipt, its dead letter and its member's rank, with growing random pauses.

    `has_receipt` takes an event's id; `dead_letters` returns those of the board as the maintenance function shows them.
    """

    has_receipt: Callable[[str], bool]
    dead_letters: Callable[[], Iterable[Mapping[str, Any]]]
    api: Api
    sleep: Callable[[float], None]
    monotonic: Callable[[], float]
    chance: Callable[[], float]

    def counted(self, event_id: str) -> None:
        """Wait until the event is counted. Raises RefusedError and NotYetError."""
        looks = 0

        def look() -> bool:
            nonlocal looks
            looks += 1
            if self.has_receipt(event_id):
                return True
            if looks >= _LETTERS_AFTER:
                for letter in self.dead_letters():
                    # The letter may be that of an earlier try, before the board's rules were corrected.
                    if letter["event"] == event_id and not self.has_receipt(event_id):
                        raise RefusedError(letter["reason"])
            return False

        self._until(look, "the event is not counted yet")

    def rank(self, board: str, member: str, metrics: Iterable[str]) -> dict[str, Any] | None:
        """Wait until a ranking has the member's score, and return its rank there; None if the member is not ranked.

        The ranking is the first window of the first of these metrics that is ranked. Raises NotYetError.
        """
        found = list[dict[str, Any] | None]()

        def look() -> bool:
            card = self.api.read("boards", board, "member", id=member)
            place = next(
                (
                    (row["metric"], window["window"], window["score"])
                    for row in card["metrics"]
                    for window in row["windows"][:1]
                    if row["metric"] in metrics
                ),
                None,
            )
            if place is None or place[2] is None or card["hidden"]:
                found.append(None)
                return True
            try:
                answer = self.api.read("boards", board, *place[:2], "rank", member=member)
            except ApiError as error:
                if error.kind not in UNRANKED:
                    raise
                return False
            found.append(answer)
            return bool(answer["score"] == place[2])

        self._until(look, "the event is counted, but its ranking does not show it yet")
        return found[-1]

    def _until(self, look: Callable[[], bool], otherwise: str) -> None:
        deadline = self.monotonic() + PATIENCE_S
        attempt = 1
        while not look():
            if self.monotonic() >= deadline:
                raise NotYetError(f"{otherwise}, after {PATIENCE_S:g} s")
            self.sleep(backoff(attempt, _FIRST_PAUSE_S, _MAX_PAUSE_S, self.chance))
            attempt += 1
