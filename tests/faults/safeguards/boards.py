"""Safeguards of board records: what they say about deletion, generations, and complete rankings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from .replacing import Change, Safeguard, returns, unconditional

if TYPE_CHECKING:
    from collections.abc import Callable


def _puts_unconditionally(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda client, request: original(client, unconditional({"Put": request})["Put"])


def _ignores_events_during_deletion(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, family, record: replace(original(self, family, record), again=record.again)


def _as_if_never_in_use(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda family, now: original(family, now)._replace(first=0)


BOARDS: Final = (
    Safeguard(
        "an event on a board that is being deleted is noted in the board's record",
        "the board has members, but lists of boards lack it",
        (Change("catalog.board_catalog:BoardCatalog._registered", _ignores_events_during_deletion),),
        written="counted_during_a_deletion",
    ),
    Safeguard(
        "cached board records expire after a minute",
        "projectors write a generation that is no longer read",
        (Change("runtime.ttl_cache:TtlCache._fresh", lambda _: lambda cache, key: cache._entries.get(key)),),
    ),
    Safeguard(
        "a board record is written only at the version that was read",
        "one of two concurrent changes is lost",
        (Change("aws.dynamodb.calls:put_if", _puts_unconditionally),),
        written="two_changes_of_one_record",
    ),
    Safeguard(
        "a ranking is no longer complete once a definition without it is in use",
        "readers see a ranking without the events that functions with the other definition counted",
        (Change("catalog.board_catalog:_within", lambda _: lambda _, __, record: record),),
        written="definitions_0",
    ),
    Safeguard(
        "a period is complete only if its first bucket is complete",
        "readers see a period that has only part of its events",
        (Change("domain.boards.coverage:Coverage._first", returns(None)),),
        written="definitions_0",
    ),
    Safeguard(
        "a season counts as complete only if all definitions have had it since it began",
        "readers see a season without the events that functions with another definition counted",
        (Change("domain.boards.coverage:_season_coverage", _as_if_never_in_use),),
        written="a_season_that_old_functions_do_not_know",
    ),
    Safeguard(
        "readers use longer limits only after a rebuild",
        "closed periods can be read again",
        (Change("domain.boards.coverage:Coverage._limited", lambda _: lambda _, timetable: timetable),),
        written="definitions_3",
    ),
)
