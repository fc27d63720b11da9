"""Safeguards of replays: parked records place their members as their items are now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from standings.runtime.retry import with_retry

from .replacing import Change, Safeguard, returns

if TYPE_CHECKING:
    from collections.abc import Callable


def _ranked_alone(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: (move for move in original(*given) if move.new is not None)


def _first_generation_alone(original: Callable[..., Any]) -> Callable[..., Any]:
    def moves(*given: Any) -> Any:
        found = list(original(*given))
        return [move for move in found if move.ranking.generation == found[0].ranking.generation]

    return moves


def _read_eventually(_: Any) -> Callable[..., Any]:
    def image(self: Any, named: Any, backoff: Any) -> Any:
        key = (named.board, named.member)
        return with_retry(lambda: self.scores.images([key]).get(key), backoff)

    return image


REPLAYING: Final = (
    Safeguard(
        "a replay places a member everywhere",
        "rankings in which it has no place any more",
        (Change("maintain.failures.parked:ParkedCare._moves", _ranked_alone),),
        written="parked_and_hidden",
    ),
    Safeguard(
        "a replay reads the item as it is now",
        "a member placed as it was before the record",
        (Change("maintain.failures.parked:ParkedCare._image", _read_eventually),),
        written="parked_a_moment_ago",
    ),
    Safeguard(
        "a replay places in every generation that is written",
        "a rebuilt board that lacks what was parked",
        (Change("maintain.failures.parked:ParkedCare._moves", _first_generation_alone),),
        written="parked_beside_a_rebuild",
    ),
    Safeguard(
        "a parked record that is too old is left",
        "an item that is gone, placed above what has come back since",
        (Change("maintain.failures.parked:ParkedCare._problem", returns(None)),),
        unneeded="A replay takes from a record only whom to place. Whether the item is there or gone, it is "
        "placed as it is now, and a row takes nothing older. Its age could be ignored.",
    ),
)
