"""Safeguards of the writer: events become changes of members' items, each exactly once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from standings.aws.dynamodb.keys import member_item_key
from standings.domain.windows.calendar import DAY

from .replacing import Change, Safeguard, becomes, returns, unconditional, unconditionally

if TYPE_CHECKING:
    from collections.abc import Callable

    from standings.domain.members.member_item import Image


def _receipts_first(original: Callable[..., Any]) -> Callable[..., Any]:
    def apply(self: Any, receipts: Any, changes: Any, now: int) -> Any:
        return (receipts and original(self, receipts, [], now)) or original(self, [], changes, now)

    return apply


def _checks_nothing(original: Callable[..., Any]) -> Callable[..., Any]:
    def rewrite(self: Any, change: Any) -> Any:
        action = original(self, change)
        return unconditional(action) if "ConditionCheck" in action else action

    return rewrite


def _moves_for_ever(original: Callable[..., Any]) -> Callable[..., Any]:
    def touched(family: Any, old: Image | None, new: Image) -> Any:
        return original(family, old, replace(new, written_at_ms=0))

    return touched


def _deletes_removed(original: Callable[..., Any]) -> Callable[..., Any]:
    def rewrite(self: Any, change: Any) -> Any:
        action = original(self, change)
        if "Put" not in action or not change.image.removed:
            return action
        request = {name: value for name, value in action["Put"].items() if name != "Item"}
        return {"Delete": {**request, "Key": member_item_key(change.board, change.member)}}

    return rewrite


_ADDS_TO_LATER: Final = Change("aws.dynamodb.scores.scores:_STAMPED_BEFORE", becomes("attribute_not_exists(nothing)"))

WRITING: Final = (
    Safeguard(
        "a receipt is written only where there is none",
        "an event that counts twice",
        (Change("aws.dynamodb.scores.scores:DynamoScores._receipt", unconditionally),),
    ),
    Safeguard(
        "receipts are in the transaction of the change",
        "a crash between the two: an event that is lost, or counts twice",
        (Change("aws.dynamodb.scores.scores:DynamoScores.apply", _receipts_first),),
    ),
    Safeguard(
        "a receipt's digest is compared",
        "an event that is dropped in silence, since its id was another's",
        (Change("write.writer:_check_content", returns(None)),),
        written="other_content",
    ),
    Safeguard(
        "receipts live for 30 days",
        "a message that comes again weeks later",
        (Change("aws.dynamodb.scores.scores:RECEIPT_LIFETIME", becomes(DAY)),),
    ),
    Safeguard(
        "a message that came too long ago is refused",
        "one that is replayed when its receipt is gone",
        (Change("write.writer:_check_age", returns(None)),),
        written="received_long_ago",
    ),
    Safeguard(
        "a stamp never goes back on an item",
        "a slow clock that counts where a faster one has closed a period",
        (Change("write.plan:_stamp", lambda _: lambda _, now: now), _ADDS_TO_LATER),
    ),
    Safeguard(
        "an addition is made on condition of the stamp",
        "the same, where the writer does not know of the faster clock",
        (_ADDS_TO_LATER,),
    ),
    Safeguard(
        "an item is rewritten on condition of its version",
        "a best, or a hide, over what was counted meanwhile",
        (Change("aws.dynamodb.scores.scores:DynamoScores._rewrite", unconditionally),),
    ),
    Safeguard(
        "what changes nothing checks the version all the same",
        "a best that is not counted, going by an item of a moment ago",
        (Change("aws.dynamodb.scores.scores:DynamoScores._rewrite", _checks_nothing),),
        written="best_of_somebody_removed",
    ),
    Safeguard(
        "accumulators go a day after reading has ended",
        "one that goes while other clocks still read the period",
        (Change("domain.members.counting:REMOVAL_MARGIN", becomes(0)),),
        written="read_by_a_slower_clock",
    ),
    Safeguard(
        "a period is moved no more an hour after reading has ended",
        "accumulators that were taken off, which look like scores that fell",
        (Change("domain.members.open_rankings:affected_rankings", _moves_for_ever),),
    ),
    Safeguard(
        "a removed member leaves its version",
        "records of the time before, which bring it back",
        (Change("aws.dynamodb.scores.scores:DynamoScores._rewrite", _deletes_removed),),
    ),
    Safeguard(
        "a removed member's version stays for 60 days",
        "the same, days later",
        (Change("aws.dynamodb.scores.member_items:REMOVED_LIFETIME", becomes(DAY)),),
        unneeded="Records of the stream live for 24 hours: later no older one comes, and a new version begins at a"
        " clock that is further on. Three days would do.",
    ),
    Safeguard(
        "versions start at the clock",
        "a member that comes back below the version of its rows",
        (
            Change(
                "domain.members.member_item:new_image",
                lambda original: lambda *given, **named: _at_0(original(*given, **named)),
            ),
            Change("aws.dynamodb.scores.scores:_NEXT_VERSION", becomes("if_not_exists(v, :i) + :i")),
        ),
    ),
    Safeguard(
        "an item that is gone counts as a version more",
        "a member deleted by hand that stays in its rankings",
        (
            Change(
                "domain.members.member_item:Image.without_scores",
                lambda original: lambda self: replace(original(self), version=self.version),
            ),
        ),
        written="deleted_by_hand",
    ),
)


def _at_0(image: Image) -> Image:
    return replace(image, version=0)
