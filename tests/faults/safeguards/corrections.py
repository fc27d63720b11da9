"""Corrections: an event is replaced or taken back once, exactly, and where it counted."""

import json
from functools import partial
from typing import Any, Final

from standings.domain.boards_toml import parse_boards
from standings.domain.members import EventPart, counted_in
from standings.domain.windows import DAY, MINUTE, SECOND, instant
from tests.support.aws.stack import ManualClock, Stack
from tests.support.awslambda.pollers import Context

from .replacing import Change, always, deleting
from .replacing import Safeguard as AnySafeguard
from .rig import LATE, NOW, POINTS, Rig

Safeguard = partial(AnySafeguard, of="corrections")
LATER: Final = LATE.replace('late = "1 day"', 'late = "7 days"').replace('keep = "1 day"', 'keep = "9 days"')


def _correct(pipeline: Rig, stack: Stack, of: str, points: int | None, own: str, **more: Any) -> bool:
    """Correct an event of the member `a`, or take it back if there are no points. False if it is to come again."""
    body: dict[str, Any] = {"id": own, "retract": of}
    if points is not None:
        body = {"id": own, "correct": of, "board": "b", "member": "a", "metrics": {"points": points}, **more}
    sent = {"SentTimestamp": str(stack.clock())}
    records = [{"messageId": own, "body": json.dumps(body), "attributes": sent, "messageAttributes": {}}]
    failed = stack.writer({"Records": records}, Context())["batchItemFailures"]
    pipeline.project(stack, *pipeline.records())
    return not failed


def _blindly(original: Any, *arguments: Any) -> Any:
    condition, values = original(*arguments)
    return ("attribute_exists(d)", None) if values else (condition, values)


@Safeguard(
    "a correction checks that its event's receipt is as it was read", Change("aws.dynamodb.scores:_as_seen", _blindly)
)
def corrected_by_two_writers(pipeline: Rig) -> None:
    """An event was taken back. Two writers correct it, each for another member."""
    stack, other = pipeline.functions(), pipeline.functions()
    pipeline.send(stack, "a", 5, id="e")
    _correct(pipeline, stack, "e", None, "c0")
    pipeline.once(lambda: _correct(pipeline, other, "e", 7, "c1", member="b"), "TransactWriteItems")
    _correct(pipeline, stack, "e", 8, "c2")
    assert pipeline.scores(stack) == {"a": 8, "b": 0}


@Safeguard(
    "the first content of a corrected event stays known",
    Change(
        "aws.dynamodb.scores:_receipt_of",
        lambda original, item: (receipt := original(item)) and receipt._replace(digest=receipt.current or b""),
    ),
)
def sent_again_after_a_correction(pipeline: Rig) -> None:
    """SQS delivers an event again after it was corrected."""
    stack = pipeline.functions()
    pipeline.send(stack, "a", 5, id="e")
    _correct(pipeline, stack, "e", 8, "c")
    pipeline.count(stack, "a", 5, id="e")
    assert stack.dead_letters.reasons() == []
    assert pipeline.scores(stack) == {"a": 8}


def _gone(original: Any, self: Any, receipt: Any, expiry: str) -> Any:
    action = original(self, receipt, expiry)
    return deleting(action) if receipt.correction and receipt.correction.current is None else action


@Safeguard("an event that was taken back keeps its receipt", Change("aws.dynamodb.scores:Scores._receipt", _gone))
def sent_again_after_a_retraction(pipeline: Rig) -> None:
    """SQS delivers an event again after it was taken back."""
    stack = pipeline.functions()
    pipeline.send(stack, "a", 5, id="e")
    _correct(pipeline, stack, "e", None, "c")
    pipeline.count(stack, "a", 5, id="e")
    assert pipeline.scores(stack) == {"a": 0}


@Safeguard(
    "a correction has a receipt of its own",
    Change(
        "aws.dynamodb.scores:Scores.receipts",
        lambda original, *given: {of: one for of, one in original(*given).items() if one.corrects is None},
    ),
    Change("aws.dynamodb.scores:_NOT_COUNTED", always("attribute_not_exists(d) OR attribute_exists(o)")),
)
def a_correction_delivered_again(pipeline: Rig) -> None:
    """SQS delivers a correction again after a later one of the same event."""
    stack = pipeline.functions()
    pipeline.send(stack, "a", 5, id="e")
    for points, own in ((8, "c1"), (9, "c2"), (8, "c1")):
        _correct(pipeline, stack, "e", points, own)
    assert pipeline.scores(stack) == {"a": 9}


@Safeguard(
    "a correction leaves out members that were removed since",
    Change("write.corrections:_Plan.lost", lambda _: property(lambda _: set())),
)
def taken_back_after_a_removal(pipeline: Rig) -> None:
    """A member was removed and came back with another event, when its first event is taken back."""
    stack = pipeline.functions()
    pipeline.send(stack, "a", 5, id="e")
    assert stack.delete("/boards/b/member", id="a")[0] == 204
    pipeline.send(stack, "a", 3)
    _correct(pipeline, stack, "e", None, "c")
    assert pipeline.scores(stack) == {"a": 3}


@Safeguard(
    "a correction changes no period that has closed",
    Change("domain.corrections:closed_period", always(None)),
)
def corrected_too_late(pipeline: Rig) -> None:
    """A day has closed, and can still be read."""
    stack = pipeline.functions(LATE)
    pipeline.count(stack, "a", 5, id="e")
    pipeline.clock.milliseconds = NOW - NOW % DAY + 2 * DAY
    _correct(pipeline, stack, "e", 8, "c")
    assert pipeline.scores(stack, "day", "2026-11-21") == {"a": 5}


def _judged_again(original: Any, text: str) -> Any:
    """What an event would count in by the definition of now."""
    content = original(text)
    (family,) = parse_boards(LATER).families
    points = next(iter(next(iter(content.counted.values())).values()))
    part = EventPart("e", content.at, {"points": points})
    return content._replace(counted={item: counted_in(family, part, NOW) for item in content.counted})


@Safeguard(
    "a correction takes away what the receipt says, where it says",
    Change("domain.corrections:decode_content", _judged_again),
    searched=False,
)
def late_becomes_longer(pipeline: Rig) -> None:
    """An event comes too late for its day. Then `late` is made longer, and the event is taken back."""
    before, stack = pipeline.functions(LATE), pipeline.functions(LATER)
    pipeline.clock.milliseconds = NOW - 3 * DAY
    pipeline.count(before, "a", 9, at=NOW - 3 * DAY)
    pipeline.clock.milliseconds = NOW
    pipeline.count(before, "a", 5, id="e", at=NOW - 3 * DAY)
    _correct(pipeline, stack, "e", None, "c")
    image = pipeline.engine.scan(TableName="Scores")["Items"]
    days = [one["N"] for item in image for name, one in item.items() if name.endswith(f"d{NOW // DAY - 3}")]
    assert (pipeline.scores(stack), days) == ({"a": 9}, ["9"])


@Safeguard("a correction that comes first waits", Change("write.corrections:WAITS", always(-MINUTE)))
def corrected_before_it_counted(pipeline: Rig) -> None:
    """SQS delivers a correction before its event."""
    stack = pipeline.functions(POINTS)
    while not _correct(pipeline, stack, "e", 8, "c"):
        pipeline.send(stack, "a", 5, id="e")
    assert pipeline.scores(stack) == {"a": 8}


@Safeguard(
    "what was corrected or taken back stays known after a removal",
    Change("aws.dynamodb.scores:Receipt.current", lambda _: property(lambda receipt: receipt.digest)),
)
def sent_again_after_a_retraction_and_a_removal(pipeline: Rig) -> None:
    """An event was taken back. Then its member is removed, and the producer sends the event again."""
    stack = pipeline.functions()
    pipeline.send(stack, "a", 5, id="e")
    _correct(pipeline, stack, "e", None, "c")
    assert stack.delete("/boards/b/member", id="a")[0] == 204
    pipeline.clock.milliseconds += 2 * MINUTE
    pipeline.count(stack, "a", 5, id="e")
    assert pipeline.scores(stack) == {}


def _only_changed(original: Any, family: Any, before: Any, after: Any, changed: Any, *given: Any, **named: Any) -> Any:
    """Leave an item as it is, with its stamp, where all numbers are as before."""
    unchanged = before is not None and before.values == after.values
    rewrite = original(family, before, after, changed, *given, **named)
    return rewrite._replace(image=before) if unchanged else rewrite


@Safeguard(
    "a correction writes each item, also where no number changes",
    Change("write.writer:rewrite", _only_changed),
    searched=False,
)
def corrected_to_the_same(pipeline: Rig) -> None:
    """A writer with a fast clock corrects an event to the same amount, and a slower clock removes the member."""
    ahead, stack = pipeline.functions(clock=ManualClock(NOW + 5 * SECOND)), pipeline.functions()
    pipeline.send(stack, "a", 5, id="e")
    _correct(pipeline, ahead, "e", 5, "c1", at=instant(NOW))
    assert stack.delete("/boards/b/member", id="a")[0] == 204
    pipeline.send(stack, "a", 3)
    _correct(pipeline, stack, "e", None, "c2")
    assert pipeline.scores(stack) == {"a": 3}


# ---- history

SETTLES: Final = POINTS.replace("\n", '\nlate = "1 day"\nkeep = "9 days"\nsettle = ["day"]\n', 1)


def _history(stack: Stack, member: str, points: int) -> None:
    """Send an event of three days ago, as history."""
    at = instant(NOW - 3 * DAY)
    body = {"id": member, "board": "b", "member": member, "at": at, "metrics": {"points": points}}
    attributes = {"history": {"dataType": "String", "stringValue": "true"}}
    record = {"messageId": member, "body": json.dumps(body), "attributes": {}, "messageAttributes": attributes}
    assert stack.writer({"Records": [record]}, Context()) == {"batchItemFailures": []}


def _settle(stack: Stack) -> None:
    payload: dict[str, Any] = {"board": "b", "window": "day", "period": str(instant(NOW - 3 * DAY))[:10]}
    while not (answer := stack.maintenance({"settle": payload}, Context()))["done"]:
        payload["cursor"] = answer["cursor"]
    assert [one["settled"] for one in answer["rankings"]] == [True]


@AnySafeguard(
    "history checks that the board's record is as it was read",
    Change(
        "aws.dynamodb.scores:Scores._check_record",
        lambda original, *given: {
            "ConditionCheck": {**original(*given)["ConditionCheck"], "ConditionExpression": "v >= :v"}
        },
    ),
)
def settled_meanwhile(pipeline: Rig) -> None:
    """A day is settled between the writer's reading of the board's record and its transaction."""
    stack, other = pipeline.functions(SETTLES), pipeline.functions(SETTLES)
    _history(stack, "a", 4)
    pipeline.project(stack, *pipeline.records())
    pipeline.once(lambda: _settle(other), "TransactWriteItems", "'b'")
    _history(stack, "b", 5)
    pipeline.project(stack, *pipeline.records())
    assert pipeline.scores(stack, "day", "2026-11-18") == {"a": 4}


@AnySafeguard(
    "a settlement marks its period before it reads anything",
    Change("catalog:BoardCatalog.settle", lambda _, self, board, _codes: self.known(board)),
)
def settled_before(pipeline: Rig) -> None:
    """History comes when its day is settled."""
    stack = pipeline.functions(SETTLES)
    _history(stack, "a", 4)
    pipeline.project(stack, *pipeline.records())
    _settle(stack)
    _history(stack, "b", 5)
    pipeline.project(stack, *pipeline.records())
    assert pipeline.scores(stack, "day", "2026-11-18") == {"a": 4}
