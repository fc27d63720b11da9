"""Safeguards of replays, which place the members of parked records by their current items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from standings.domain.rolling.shifts import Shift
from standings.runtime.retry import with_retry

from .replacing import Change, Safeguard, returns

if TYPE_CHECKING:
    from collections.abc import Callable

    from standings.domain.members.moves import Move


def _ranked_alone(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: (move for move in original(*arguments) if _is_ranked(move))


def _is_ranked(move: Move | Shift) -> bool:
    return bool(move.steps.steps) if isinstance(move, Shift) else move.new is not None


def _first_generation_alone(original: Callable[..., Any]) -> Callable[..., Any]:
    def moves(*arguments: Any) -> Any:
        placed = list(original(*arguments))
        return [move for move in placed if move.ranking.generation == placed[0].ranking.generation]

    return moves


def _read_eventually(_: Any) -> Callable[..., Any]:
    def image(self: Any, parked: Any, backoff: Any) -> Any:
        key = (parked.board, parked.member)
        return with_retry(lambda: self.scores.images([key]).get(key), backoff)

    return image


REPLAYING: Final = (
    Safeguard(
        "a replay updates the member in every ranking",
        "the member stays in rankings that it has left",
        (Change("maintain.failures.parked:ParkedCare._moves", _ranked_alone),),
        written="parked_and_hidden",
    ),
    Safeguard(
        "a replay reads the item consistently",
        "the member is placed as it was before the record",
        (Change("maintain.failures.parked:ParkedCare._image", _read_eventually),),
        written="parked_a_moment_ago",
    ),
    Safeguard(
        "a replay updates every generation that is being written",
        "a rebuilt board lacks the parked changes",
        (Change("maintain.failures.parked:ParkedCare._moves", _first_generation_alone),),
        written="parked_beside_a_rebuild",
    ),
    Safeguard(
        "a parked record that is too old is skipped",
        "a deleted item is placed over a member that has come back since",
        (Change("maintain.failures.parked:ParkedCare._problem", returns(None)),),
        unneeded="A replay takes only the name of the member from a record. It places the member by the current "
        "item, even if that was deleted, and a row accepts nothing older. So the age of the record could be ignored.",
    ),
)
