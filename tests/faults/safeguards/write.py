"""The writer: each event becomes changes of member items exactly once."""

import re
from dataclasses import replace
from typing import Any, Final

from standings.domain.boards import is_total
from standings.domain.windows import DAY, MINUTE, SECOND
from tests.support.aws.stack import ManualClock, Stack
from tests.support.awslambda.pollers import Context

from .replacing import Change, Safeguard, always, deleting, unconditional, unconditionally
from .rig import BEST, LATE, NOT_LATE, NOW, ROLLING_POINTS, WINDOW, Rig

Safeguard("a receipt is written only if none exists", Change("aws.dynamodb.scores:Scores._receipt", unconditionally))


Safeguard(
    "receipts and changes are in one transaction",
    Change(
        "aws.dynamodb.scores:Scores.apply",
        lambda original, self, receipts, changes, now: (
            (receipts and original(self, receipts, [], now)) or original(self, [], changes, now)
        ),
    ),
)


@Safeguard("the digest in a receipt is compared", Change("write.writer:_check_content", always(None)))
def other_content(pipeline: Rig) -> None:
    """Two events with one id have different amounts. The second goes to the dead-letter queue."""
    stack = pipeline.functions()
    pipeline.send(stack, "a", 5, id="same")
    pipeline.send(stack, "a", 6, id="same")
    assert len(stack.dead_letters.reasons()) == 1


Safeguard("receipts are kept for 30 days", Change("aws.dynamodb.scores:RECEIPT_LIFETIME", always(DAY)))


@Safeguard("a message that is too old is refused", Change("write.writer:_check_age", always(None)))
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


ADDS_TO_LATER: Final = Change("aws.dynamodb.scores:_STAMPED_BEFORE", always("attribute_not_exists(nothing)"))

Safeguard(
    "the timestamp of an item never decreases", Change("write.writer:stamp_of", lambda _, __, now: now), ADDS_TO_LATER
)
Safeguard("an addition is conditional on the timestamp of the item", ADDS_TO_LATER)
Safeguard(
    "a rewrite is conditional on the version of the item",
    Change("aws.dynamodb.scores:Scores._rewrite", unconditionally),
    Change("aws.dynamodb.scores:Scores._patch", unconditionally),
)

_WORKED_OUT: Final[dict[int, tuple[Any, Any]]] = {}
"""Each part of an event, by the identity of its amounts, and what was worked out for it first."""


@Safeguard(
    "the change to a total that is set is worked out again after a conflict",
    Change(
        "write.writer:_with_differences",
        lambda original, *given: _WORKED_OUT.setdefault(id(given[-1].amounts), (given[-1], original(*given)))[1],
    ),
    of="notes",
)
def set_beside_another_writer(pipeline: Rig) -> None:
    """A total is set, and another writer counts an event before the first one commits."""
    stack, other = pipeline.functions(), pipeline.functions()
    pipeline.send(stack, "a", 10)
    pipeline.once(lambda: pipeline.send(other, "a", 5), "TransactWriteItems")
    pipeline.count(stack, "a", 8, sets=True)
    assert pipeline.scores(stack) == {"a": 8}


@Safeguard(
    "a total that is older than the one that was set last changes nothing",
    Change("domain.members:set_key", always("")),
    of="notes",
)
def set_in_the_other_order(pipeline: Rig) -> None:
    """The total of today comes first, then that of yesterday."""
    stack = pipeline.functions()
    pipeline.send(stack, "a", 8, sets=True)
    pipeline.count(stack, "a", 3, sets=True, at=NOW - DAY)
    assert pipeline.scores(stack) == {"a": 8}


def _of_all_alone(original: Any, *given: Any) -> Any:
    image, changed, is_superseded = original(*given)
    keys = {name: key for name, key in image.set_keys.items() if is_total(name)}
    return replace(image, set_keys=keys), changed, is_superseded


@Safeguard(
    "a best that is older than the one that was set last in a period changes nothing there",
    Change("domain.members:set_bests", _of_all_alone),
    of="notes bests",
)
def bests_set_in_the_other_order(pipeline: Rig) -> None:
    """Of two bests with one time, that with the greater id comes first."""
    stack = pipeline.functions(BEST.replace('"all"', '"all", "day"'))
    pipeline.send(stack, "a", 8, sets=True, id="z")
    pipeline.count(stack, "a", 3, sets=True, id="b")
    assert (pipeline.scores(stack), pipeline.scores(stack, "day")) == ({"a": 8}, {"a": 8})


@Safeguard(
    "a best that is set replaces what came late for its day",
    Change("domain.members:_is_late_for", always(False)),
    of="notes bests",
)
def a_best_set_after_a_late_one(pipeline: Rig) -> None:
    """A best of yesterday comes late. Then `late` is made longer, and the best of yesterday is set."""
    pipeline.send(pipeline.functions(NOT_LATE.replace("sum", "max")), "a", 9, at=NOW - DAY)
    stack = pipeline.functions(ROLLING_POINTS.replace("sum", "max"))
    pipeline.count(stack, "a", 5, sets=True, at=NOW - DAY)
    assert pipeline.scores(stack, WINDOW) == {"a": 5}


# ---- again after a removal


def _remove(stack: Stack, member: str = "a") -> None:
    assert stack.delete("/boards/b/member", id=member)[0] == 204


@Safeguard(
    "an event counts again only if it was sent after the removal",
    Change("domain.members:SENT_AFTER", always(-(10**15))),
)
def on_its_way(pipeline: Rig) -> None:
    """SQS delivers a message twice, and the member is removed in between. Later the event is posted again."""
    stack = pipeline.functions()
    pipeline.send(stack, "a", 5, id="same")
    _remove(stack)
    pipeline.clock.milliseconds += 2 * MINUTE
    pipeline.count(stack, "a", 5, id="same", sent=NOW)
    assert pipeline.scores(stack) == {}
    pipeline.count(stack, "a", 5, id="same")
    assert pipeline.scores(stack) == {"a": 5}


@Safeguard(
    "an event counts again only if all its members were removed",
    Change("domain.members:counts_again", lambda original, images, *at: any(original([one], *at) for one in images)),
)
def removed_from_one_board(pipeline: Rig) -> None:
    """An event counts on two boards. Its member is removed from one of them, and the event is posted again."""
    stack = pipeline.functions()
    pipeline.send(stack, "a", 5, id="same", board=["b", "c"])
    _remove(stack)
    pipeline.clock.milliseconds += 2 * MINUTE
    pipeline.count(stack, "a", 5, id="same", board=["b", "c"])
    assert [entry["score"] for entry in stack.entries("/boards/c/points/all")] == [5]


@Safeguard(
    "an event that counts again checks that its members are as they were read",
    Change(
        "write.writer:plan_changes", lambda original, *given, **named: original(*given[:4], (), *given[5:], **named)
    ),
)
def removed_twice(pipeline: Rig) -> None:
    """A member comes back, an event is posted again, and a slower clock removes it before the writer commits."""
    ahead, stack = pipeline.functions(clock=ManualClock(NOW + 2 * MINUTE + SECOND)), pipeline.functions()
    pipeline.send(stack, "a", 5, id="same")
    _remove(stack)
    pipeline.clock.milliseconds += 2 * MINUTE
    pipeline.count(stack, "a", 3)
    pipeline.once(lambda: _remove(stack), "TransactWriteItems", "t = :seen")
    pipeline.count(ahead, "a", 5, id="same", sent=pipeline.clock())
    assert pipeline.scores(stack) == {}


@Safeguard(
    "a removal is later than all that the member's item counted",
    Change("domain.members:removed", lambda original, image, now: replace(original(image, now), removed_at=now)),
)
def removed_by_a_slower_clock(pipeline: Rig) -> None:
    """The writer's clock is ahead of the one that removes the member."""
    ahead, stack = pipeline.functions(clock=ManualClock(NOW + 5 * SECOND)), pipeline.functions()
    pipeline.send(ahead, "a", 5, id="same", sent=NOW)
    _remove(stack)
    pipeline.clock.milliseconds += 2 * MINUTE
    pipeline.count(stack, "a", 5, id="same")
    assert pipeline.scores(stack) == {"a": 5}


@Safeguard(
    "the stamp of a removal stays when the member comes back",
    Change("domain.members:rewritten", lambda original, *given: replace(original(*given), removed_at=None)),
)
def again_after_it_came_back(pipeline: Rig) -> None:
    """A member was removed and came back by another event, when its earlier best is posted again."""
    stack = pipeline.functions(BEST)
    pipeline.send(stack, "a", 5, id="same")
    _remove(stack)
    pipeline.count(stack, "a", 3)
    pipeline.clock.milliseconds += 2 * MINUTE
    pipeline.count(stack, "a", 5, id="same")
    assert pipeline.scores(stack) == {"a": 5}


# ---- merges


def _merge(pipeline: Rig, stack: Stack, *, by: Stack | None = None) -> None:
    """Merge the member `a` into `b`, and project that by the same functions or others."""
    assert stack.maintenance({"merge": {"board": "b", "old": "a", "new": "b"}}, Context())["merged"]
    pipeline.project(by or stack, *pipeline.records())


@Safeguard(
    "both members of a merge are written in one transaction",
    Change(
        "aws.dynamodb.scores:Scores.apply",
        lambda original, self, receipts, changes, now, fence=None, **_: [
            conflict for change in changes for conflict in original(self, receipts, [change], now, fence)
        ],
    ),
    of="people",
)
def an_event_beside_a_merge(pipeline: Rig) -> None:
    """The member that stays gets an event between the reads of a merge and its writes."""
    stack, other = pipeline.functions(), pipeline.functions()
    pipeline.count(stack, "a", 5)
    pipeline.count(stack, "b", 1)
    pipeline.once(lambda: pipeline.send(other, "b", 10), "TransactWriteItems", "'sk': {'S': 'b'}")
    _merge(pipeline, stack)
    assert pipeline.scores(stack) == {"b": 16}


@Safeguard(
    "what a merged member has counted stays known",
    Change(
        "domain.members:merged", lambda original, *given: (_without_mark(original(*given)[0]), *original(*given)[1:])
    ),
    of="people",
)
def posted_again_after_a_merge(pipeline: Rig) -> None:
    """An event of a merged member is posted again, minutes later."""
    stack = pipeline.functions()
    pipeline.count(stack, "a", 5, id="same")
    _merge(pipeline, stack)
    pipeline.clock.milliseconds += 2 * MINUTE
    pipeline.count(stack, "a", 5, id="same")
    assert pipeline.scores(stack) == {"b": 5}


def _without_mark(image: Any) -> Any:
    return replace(image, merged_at=None)


@Safeguard(
    "the stamp of a merge stays when the member comes back",
    Change("domain.members:rewritten", lambda original, *given: _without_mark(original(*given))),
    of="people",
)
def posted_again_after_a_merge_and_a_removal(pipeline: Rig) -> None:
    """A merged member comes back and is removed. What it had counted before the merge is posted again."""
    stack = pipeline.functions(BEST)
    pipeline.count(stack, "a", 5, id="same")
    _merge(pipeline, stack)
    pipeline.count(stack, "a", 3)
    _remove(stack)
    pipeline.clock.milliseconds += 2 * MINUTE
    pipeline.count(stack, "a", 5, id="same")
    assert pipeline.scores(stack) == {"b": 5}


@Safeguard(
    "a merge is later than all that the merged member counted",
    Change(
        "domain.members:merged",
        lambda original, family, old, new, now: _stamped(original(family, old, new, now), now),
    ),
    of="people",
)
def merged_by_a_slower_clock(pipeline: Rig) -> None:
    """The writer's clock is ahead of the one that merges the member."""
    ahead, stack = pipeline.functions(clock=ManualClock(NOW + 5 * SECOND)), pipeline.functions()
    pipeline.count(ahead, "a", 5, by=stack, id="same", sent=NOW)
    _merge(pipeline, stack)
    pipeline.count(stack, "a", 1)
    _remove(stack)
    pipeline.clock.milliseconds += 2 * MINUTE
    pipeline.count(stack, "a", 5, id="same")
    assert pipeline.scores(stack) == {"b": 5}


def _stamped(images: Any, now: int) -> Any:
    left, *others = images
    return replace(left, merged_at=now), *others


@Safeguard(
    "a merge counts as a removal",
    Change(
        "domain.members:merged", lambda original, *given: (_not_removed(original(*given)[0]), *original(*given)[1:])
    ),
    of="people",
)
def rebuilt_after_a_merge(pipeline: Rig) -> None:
    """One projector writes a member in both generations. Another one, with an old record, projects its merge."""
    stack, other = pipeline.functions(), pipeline.functions()
    pipeline.count(stack, "a", 10, by=other)
    pipeline.rebuild(stack, until="announced")
    pipeline.count(stack, "a", 2, by=pipeline.functions())
    _merge(pipeline, stack, by=other)
    pipeline.rebuild(stack)
    assert pipeline.scores(stack) == {"b": 12}


def _not_removed(image: Any) -> Any:
    return replace(image, removed_at=None)


# ---- accumulators and versions


def _without_check(original: Any, *arguments: Any) -> Any:
    action = original(*arguments)
    return unconditional(action) if "ConditionCheck" in action else action


@Safeguard(
    "an event that changes nothing still checks the version",
    Change("aws.dynamodb.scores:Scores._rewrite", _without_check),
)
def best_of_a_removed_member(pipeline: Rig) -> None:
    """An event is below the best score, but the member is removed before the writer commits."""
    stack, other = pipeline.functions(BEST), pipeline.functions(BEST)
    pipeline.send(stack, "a", 10)
    pipeline.once(lambda: other.delete("/boards/b/member", id="a"), "TransactWriteItems")
    pipeline.count(stack, "a", 8)
    assert pipeline.scores(stack) == {"a": 8}


@Safeguard(
    "an accumulator is removed a day after its period can last be read",
    Change("domain.members:REMOVAL_MARGIN", always(0)),
)
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


def _of_the_whole_window(original: Any, *arguments: Any) -> str | None:
    name = original(*arguments)
    return None if name is None else re.sub("f[0-9]+$", "", name)


Safeguard(
    "a late event counts from the first period on that is open",
    Change("domain.boards:Metric.late_bucket", _of_the_whole_window),
)


@Safeguard(
    "late events of a bucket are merged an hour after a closed period could last be read",
    Change("domain.members:SKIP_MARGIN", always(0)),
)
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


Safeguard(
    "a ranking is no longer updated an hour after it could last be read",
    Change(
        "domain.members:affected_rankings",
        lambda original, family, old, new: original(family, old, replace(new, written_at_ms=0)),
    ),
)


def _deletes_removed(original: Any, self: Any, change: Any) -> Any:
    action = original(self, change)
    return deleting(action) if "Put" in action and change.image.removed else action


Safeguard(
    "the item of a removed member keeps its version", Change("aws.dynamodb.scores:Scores._rewrite", _deletes_removed)
)
Safeguard(
    "the first version of an item is the clock time",
    Change("domain.members:new_image", lambda original, *given, **named: replace(original(*given, **named), version=0)),
    Change("aws.dynamodb.scores:_NEXT_VERSION", always("if_not_exists(v, :i) + :i")),
)


@Safeguard(
    "a deleted item counts as one version higher",
    Change(
        "domain.members:Image.without_scores", lambda original, image: replace(original(image), version=image.version)
    ),
)
def deleted_by_hand(pipeline: Rig) -> None:
    """Somebody deletes an item in the table. Its stream record has the old version."""
    stack = pipeline.functions()
    pipeline.send(stack, "a", 10)
    (first,) = pipeline.records()
    pipeline.project(stack, first)
    pipeline.engine.delete_item(TableName="Scores", Key=first["dynamodb"]["Keys"])
    pipeline.project(stack, *pipeline.records())
    assert pipeline.scores(stack) == {}
