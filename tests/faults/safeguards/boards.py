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
        "an event on a board that is being deleted is noticed",
        "a board has members and is in no list",
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
        "a ranking that another definition leaves out is no longer complete",
        "the ranking lacks events that were counted by the other definition",
        (Change("catalog.board_catalog:_within", lambda _: lambda _, __, record: record),),
        written="definitions_0",
    ),
    Safeguard(
        "a period is complete only from its first complete bucket on",
        "a period is read of which only part of the events was kept",
        (Change("domain.boards.coverage:Coverage._first", returns(None)),),
        written="definitions_0",
    ),
    Safeguard(
        "a season counts as complete only if all definitions have had it since it began",
        "the season lacks events that were counted by another definition",
        (Change("domain.boards.coverage:_season_coverage", _as_if_never_in_use),),
        written="a_season_that_old_functions_do_not_know",
    ),
    Safeguard(
        "the old limits hold until a rebuild",
        "closed periods are read again",
        (Change("domain.boards.coverage:Coverage._limited", lambda _: lambda _, timetable: timetable),),
        written="definitions_36",
    ),
)
