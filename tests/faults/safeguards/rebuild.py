"""Safeguards of rebuilds and deletions, which go on beside events."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from standings.maintain.rebuild.phases import ANNOUNCED, LEAVING, RETIRED, SWITCHED

from .replacing import Change, Safeguard

if TYPE_CHECKING:
    from collections.abc import Callable


def _waits_but(phase: str) -> Change:
    return Change("maintain.rebuild.rebuild:_WAITING", lambda phases: phases - {phase})


def _first_generation_alone(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, written: original(self, {board: numbers[:1] for board, numbers in written.items()})


def _nobody_placed(original: Callable[..., Any]) -> Callable[..., Any]:
    def through_members(self: Any, record: Any, do: Any, after_all: Any) -> Any:
        return self._save(record, after_all) if do == self._place else original(self, record, do, after_all)

    return through_members


def _a_version_more(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda image, rankings: original(replace(image, version=image.version + 1), rankings)


REBUILDING: Final = (
    Safeguard(
        "projectors write both generations",
        "changes beside a rebuild that it does not see",
        (Change("project.projector:_Batch._parts", _first_generation_alone),),
    ),
    Safeguard(
        "a rebuild waits before it places",
        "projectors that know just the old generation",
        (_waits_but(ANNOUNCED),),
        written="projected_by_who_knows_the_old",
    ),
    Safeguard(
        "a rebuild places every member",
        "members that do not change meanwhile",
        (Change("maintain.rebuild.rebuild:_Run._through_members", _nobody_placed),),
    ),
    Safeguard(
        "a member is placed with its item's version",
        "the scan, over what a projector has brought meanwhile",
        (Change("project.backfill:placings", _a_version_more),),
    ),
    Safeguard(
        "a rebuild waits before it retires the old generation",
        "readers that know just the old one",
        (_waits_but(SWITCHED),),
        written="read_by_who_knows_the_old",
    ),
    Safeguard(
        "a rebuild waits before it purges",
        "projectors that still write what is purged",
        (_waits_but(RETIRED),),
        written="written_by_who_knows_the_old",
    ),
    Safeguard(
        "a deletion waits before it removes members",
        "writers that do not know that the board is going",
        (_waits_but(LEAVING),),
        written="counted_while_a_board_goes",
    ),
)
