"""Safeguards of rebuilds and deletions, which run while events arrive."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from standings.maintain.rebuild.phases import ANNOUNCED, LEAVING, RETIRED, SWITCHED

from .replacing import Change, Safeguard, returns

if TYPE_CHECKING:
    from collections.abc import Callable

    from standings.domain.members.member_item import Image


def _skips_wait(phase: str) -> Change:
    return Change("maintain.rebuild.phases:WAITING", lambda phases: phases - {phase})


def _first_generation_alone(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, written: original(self, {board: numbers[:1] for board, numbers in written.items()})


def _places_no_member(original: Callable[..., Any]) -> Callable[..., Any]:
    def through_members(self: Any, record: Any, do: Any, after_all: Any) -> Any:
        return self._save(record, after_all) if do == self._place else original(self, record, do, after_all)

    return through_members


def _one_version_higher(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda image, rankings: original(_one_higher(image), rankings)


def _one_version_higher_in_windows(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda family, image, *more, **named: original(family, _one_higher(image), *more, **named)


def _one_higher(image: Image) -> Image:
    return replace(image, version=image.version + 1)


REBUILDING: Final = (
    Safeguard(
        "projectors write both generations",
        "the new generation lacks changes made during the rebuild",
        (Change("project.projector:_Batch._parts", _first_generation_alone),),
    ),
    Safeguard(
        "a rebuild waits before it places members",
        "projectors that know only the old generation make changes that the new generation lacks",
        (_skips_wait(ANNOUNCED),),
        written="projected_with_an_old_record",
    ),
    Safeguard(
        "a rebuild places every member",
        "members that do not change during the rebuild are missing",
        (Change("maintain.rebuild.rebuild:_Run._through_members", _places_no_member),),
        written="rebuilt_at_rest",
    ),
    Safeguard(
        "a rebuild reads the rows of members that were removed",
        "a member stays in the new generation after a projector with an old record removed it",
        (Change("maintain.rebuild.rebuild:_Run._entries_of_removed", returns({})),),
        written="removed_with_an_old_record",
    ),
    Safeguard(
        "a member is placed with the version of its item",
        "the scan overwrites newer changes of projectors",
        (
            Change("project.commit_moves:placings", _one_version_higher),
            Change("domain.rolling.shifts:placing_shifts", _one_version_higher_in_windows),
        ),
    ),
    Safeguard(
        "a rebuild waits before it retires the old generation",
        "readers that know only the old generation read outdated rankings",
        (_skips_wait(SWITCHED),),
        written="read_with_an_old_record",
    ),
    Safeguard(
        "a rebuild waits before it purges",
        "projectors still write to the generation that is being purged",
        (_skips_wait(RETIRED),),
        written="written_with_an_old_record",
    ),
    Safeguard(
        "a deletion waits before it removes members",
        "writers that do not know of the deletion add members",
        (_skips_wait(LEAVING),),
        written="counted_during_a_deletion",
    ),
)
