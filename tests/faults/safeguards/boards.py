"""Safeguards of what is known of boards: their records, and for what their rankings are whole."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from .replacing import Change, Safeguard, returns, unconditional

if TYPE_CHECKING:
    from collections.abc import Callable


def _puts_unconditionally(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda client, request: original(client, unconditional({"Put": request})["Put"])


def _not_seen_again(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, family, record: replace(original(self, family, record), again=record.again)


BOARDS: Final = (
    Safeguard(
        "an event on a board that is being deleted is seen",
        "a board that has members and is on no list",
        (Change("catalog.board_catalog:BoardCatalog._registered", _not_seen_again),),
        written="counted_while_a_board_goes",
    ),
    Safeguard(
        "what is known of boards is asked again after a minute",
        "projectors that write what is no longer read",
        (Change("runtime.ttl_cache:TtlCache._fresh", lambda _: lambda cache, key: cache._entries.get(key)),),
    ),
    Safeguard(
        "a board's record is written on condition of its version",
        "two that change it, of whom one is forgotten",
        (Change("aws.dynamodb.calls:put_if", _puts_unconditionally),),
        written="two_at_one_record",
    ),
    Safeguard(
        "what another definition leaves out is no longer whole",
        "a ranking that lacks what came in beside it",
        (Change("catalog.board_catalog:_within", lambda _: lambda _, record: record),),
        written="definitions_0",
    ),
    Safeguard(
        "a period is whole from its first complete bucket on",
        "one whose activity was kept only in part",
        (Change("domain.boards.coverage:Coverage._first", returns(None)),),
        written="definitions_0",
    ),
    Safeguard(
        "the limits of before hold until a rebuild",
        "periods that were closed, and are read again",
        (Change("domain.boards.coverage:Coverage._limited", lambda _: lambda _, timetable: timetable),),
        written="definitions_7",
    ),
)
