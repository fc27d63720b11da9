"""The writer: each event becomes changes of member items exactly once."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from standings.aws.dynamodb.tables import member_item_key
from standings.domain.windows import DAY, SECOND
from tests.support.aws.stack import ManualClock
from tests.support.faults.faulty_client import Faulty, passes

from .replacing import Change, Safeguard, becomes, returns, unconditional, unconditionally
from .rig import BEST, LATE, NOT_LATE, NOW, WINDOW, on_a_rig

if TYPE_CHECKING:
    from collections.abc import Callable

    from standings.domain.members import Image

    from .rig import Rig

# ---- schedules that need them


@on_a_rig
def other_content(pipeline: Rig) -> None:
    """Two events with one id have different amounts. The second goes to the dead-letter queue."""
    stack = pipeline.functions()
    pipeline.send(stack, "a", 5, id="same")
    pipeline.send(stack, "a", 6, id="same")
    assert len(stack.dead_letters.reasons()) == 1


@on_a_rig
def received_long_ago(pipeline: Rig) -> None:
    """A message is redelivered after a month, when its receipt has expired."""
    stack = pipeline.functions()
    pipeline.send(stack, "a", 5, id="same")
    pipeline.clock.milliseconds += 31 * DAY
    pipeline.engine.expire("Receipts", goes=lambda: True)
    pipeline.engine.delete_item(TableName="Receipts", Key={"pk": {"S": "same"}})
    pipeline.send(stack, "a", 5, id="same", at=NOW, received=NOW)
    pipeline.project(stack, *pipeline.records())
    assert pipeline.scores(stack) == {"a": 5}


@on_a_rig
def best_of_a_removed_member(pipeline: Rig) -> None:
    """An event is below the best score, but the member is removed before the writer commits."""
    stack, other = pipeline.functions(BEST), pipeline.functions(BEST, pipeline.engine)
    pipeline.send(stack, "a", 10)

    def removed(client: Faulty, request: dict[str, Any]) -> Any:
        assert other.delete("/boards/b/member", id="a")[0] == 204
        return passes(client, request)

    pipeline.client.steps.append(removed)
    pipeline.count(stack, "a", 8)
    assert pipeline.scores(stack) == {"a": 8}


@on_a_rig
def set_beside_another_writer(pipeline: Rig) -> None:
    """A total is set, and another writer counts an event before the first one commits."""
    stack, other = pipeline.functions(), pipeline.functions(client=pipeline.engine)
    pipeline.send(stack, "a", 10)

    def counted(client: Faulty, request: dict[str, Any]) -> Any:
        pipeline.send(other, "a", 5)
        return passes(client, request)

    pipeline.client.steps.append(counted)
    pipeline.count(stack, "a", 8, sets=True)
    assert pipeline.scores(stack) == {"a": 8}


@on_a_rig
def read_by_a_slower_clock(pipeline: Rig) -> None:
    """A writer's clock says that a day is no longer readable. By a slower reader's clock it still is."""
    fast = ManualClock(NOW)
    ahead, stack = pipeline.functions(LATE, clock=fast), pipeline.functions(LATE)
    pipeline.count(stack, "a", 5)
    # The 21st is readable until the 22nd accepts no more events, which is the end of the 23rd.
    pipeline.clock.milliseconds = NOW - NOW % DAY + 3 * DAY - 30 * SECOND
    fast.milliseconds = pipeline.clock.milliseconds + 60 * SECOND
    pipeline.count(ahead, "a", 1)
    assert pipeline.scores(stack, "day", "2026-11-21") == {"a": 5}


@on_a_rig
def merged_by_a_faster_clock(pipeline: Rig) -> None:
    """Two events of the 21st come after it. By the second writer's clock, the period of the 21st can't be read."""
    fast = ManualClock(NOW)
    ahead, stack = pipeline.functions(NOT_LATE, clock=fast), pipeline.functions(NOT_LATE)
    pipeline.count(stack, "a", 5)
    pipeline.clock.milliseconds = NOW + DAY
    pipeline.count(stack, "a", 7, at=NOW)
    # It can be read until the end of the 22nd.
    pipeline.clock.milliseconds = NOW - NOW % DAY + 2 * DAY - 30 * SECOND
    fast.milliseconds = pipeline.clock.milliseconds + 60 * SECOND
    pipeline.count(ahead, "a", 1, at=NOW)
    assert pipeline.scores(stack, WINDOW, "2026-11-21") == {"a": 5}


@on_a_rig
def deleted_by_hand(pipeline: Rig) -> None:
    """Somebody deletes an item in the table. Its stream record has the old version."""
    stack = pipeline.functions()
    pipeline.send(stack, "a", 10)
    (first,) = pipeline.records()
    pipeline.project(stack, first)
    pipeline.engine.delete_item(TableName="Scores", Key=first["dynamodb"]["Keys"])
    pipeline.project(stack, *pipeline.records())
    assert pipeline.scores(stack) == {}


# ---- how each is taken away


def _receipts_first(original: Callable[..., Any]) -> Callable[..., Any]:
    def apply(self: Any, receipts: Any, changes: Any, now: int) -> Any:
        return (receipts and original(self, receipts, [], now)) or original(self, [], changes, now)

    return apply


def _without_check(original: Callable[..., Any]) -> Callable[..., Any]:
    def rewrite(self: Any, change: Any) -> Any:
        action = original(self, change)
        return unconditional(action) if "ConditionCheck" in action else action

    return rewrite


def _updates_for_ever(original: Callable[..., Any]) -> Callable[..., Any]:
    def touched(family: Any, old: Image | None, new: Image) -> Any:
        return original(family, old, replace(new, written_at_ms=0))

    return touched


def _deletes_removed(original: Callable[..., Any]) -> Callable[..., Any]:
    def rewrite(self: Any, change: Any) -> Any:
        action = original(self, change)
        if "Put" not in action or not change.image.removed:
            return action
        request = {name: value for name, value in action["Put"].items() if name != "Item"}
        return {"Delete": {**request, "Key": member_item_key(change.image.board, change.image.member)}}

    return rewrite


def _of_the_whole_window(original: Callable[..., str | None]) -> Callable[..., str | None]:
    def late_bucket(*arguments: Any) -> str | None:
        name = original(*arguments)
        return None if name is None else re.sub("f[0-9]+$", "", name)

    return late_bucket


def _worked_out_once(original: Callable[..., Any]) -> Callable[..., Any]:
    first: dict[Any, Any] = {}

    def with_differences(family: Any, item: Any, image: Any, part: Any) -> Any:
        return first.setdefault(part.event_id, original(family, item, image, part))

    return with_differences


_ADDS_TO_LATER: Final = Change("aws.dynamodb.scores:_STAMPED_BEFORE", becomes("attribute_not_exists(nothing)"))


WRITING: Final = {
    "a receipt is written only if none exists": Safeguard(
        Change("aws.dynamodb.scores:Scores._receipt", unconditionally)
    ),
    "receipts and changes are in one transaction": Safeguard(
        Change("aws.dynamodb.scores:Scores.apply", _receipts_first)
    ),
    "the digest in a receipt is compared": Safeguard(
        Change("write.writer:_check_content", returns(None)), written=other_content
    ),
    "receipts are kept for 30 days": Safeguard(Change("aws.dynamodb.scores:RECEIPT_LIFETIME", becomes(DAY))),
    "a message that is too old is refused": Safeguard(
        Change("write.writer:_check_age", returns(None)), written=received_long_ago
    ),
    "the timestamp of an item never decreases": Safeguard(
        Change("write.writer:_stamp", lambda _: lambda _, now: now), _ADDS_TO_LATER
    ),
    "an addition is conditional on the timestamp of the item": Safeguard(_ADDS_TO_LATER),
    "a rewrite is conditional on the version of the item": Safeguard(
        Change("aws.dynamodb.scores:Scores._rewrite", unconditionally)
    ),
    "the change to a total that is set is worked out again after a conflict": Safeguard(
        Change("write.writer:_with_differences", _worked_out_once), written=set_beside_another_writer
    ),
    "an event that changes nothing still checks the version": Safeguard(
        Change("aws.dynamodb.scores:Scores._rewrite", _without_check), written=best_of_a_removed_member
    ),
    "an accumulator is removed a day after its period can last be read": Safeguard(
        Change("domain.members:REMOVAL_MARGIN", becomes(0)), written=read_by_a_slower_clock
    ),
    "a late event counts from the first period on that is open": Safeguard(
        Change("domain.boards:Metric.late_bucket", _of_the_whole_window)
    ),
    "late events of a bucket are merged an hour after a closed period could last be read": Safeguard(
        Change("domain.members:SKIP_MARGIN", becomes(0)), written=merged_by_a_faster_clock
    ),
    "a ranking is no longer updated an hour after it could last be read": Safeguard(
        Change("domain.members:affected_rankings", _updates_for_ever)
    ),
    "the item of a removed member keeps its version": Safeguard(
        Change("aws.dynamodb.scores:Scores._rewrite", _deletes_removed)
    ),
    "the first version of an item is the clock time": Safeguard(
        Change(
            "domain.members:new_image",
            lambda original: lambda *arguments, **named: replace(original(*arguments, **named), version=0),
        ),
        Change("aws.dynamodb.scores:_NEXT_VERSION", becomes("if_not_exists(v, :i) + :i")),
    ),
    "a deleted item counts as one version higher": Safeguard(
        Change(
            "domain.members:Image.without_scores",
            lambda original: lambda self: replace(original(self), version=self.version),
        ),
        written=deleted_by_hand,
    ),
}
