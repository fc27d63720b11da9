"""Boards that end: then nothing of one counts or is read, and the next board of its name has none of its numbers."""

from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

from standings.domain.windows import DAY, MINUTE
from tests.support.builders.checks import entries

from .replacing import Change, always
from .replacing import Safeguard as AnySafeguard
from .rig import NOW, Rig

Safeguard = partial(AnySafeguard, of="ends")
ITEMS = "aws.dynamodb.scores"
RECORD = "domain.coverage:BoardRecord"


def _of_no_time(original: Any, item: Any, keys: Any = None, now: int | None = None) -> Any:  # noqa: ARG001 - it is left out
    return original(item, keys)


def _in_generation_0(original: Any, *arguments: Any) -> Any:
    return replace(original(*arguments), generation=0, written=(0,), latest=0)


def _without_receipts(original: Any, self: Any) -> None:
    with mock.patch.object(self.writer.scores, "receipts", always({}), create=True):
        original(self)


ENDING = '[boards."*"]\nexpires = "10 days"\nmetrics.points = { aggregate = "sum", windows = ["all"] }\n'


@Safeguard("each function compares a board's end with its clock", Change(f"{RECORD}.has_ended", always(False)))
@Safeguard("until then it is taken", Change("domain.coverage:RECORD_KEPT", always(2 * DAY)))
@Safeguard("90 days after its end a board's name is free", Change(f"{RECORD}.is_gone", always(False)))
@Safeguard("each item of a board that ends has a TTL", Change(f"{RECORD}.expiry", always(property(always(None)))))
@Safeguard("an item that has expired counts as none", Change(f"{ITEMS}:decode_image", _of_no_time), searched=False)
@Safeguard(
    "nothing is added to an item that has expired",
    Change(f"{ITEMS}:_NOT_EXPIRED", lambda condition: f"{condition[:-1]} OR attribute_exists(t))"),
)
@Safeguard(
    "an item that has expired is written over as a whole",
    Change("domain.members:Image.is_left_over", always(property(always(False)))),
)
@Safeguard("a board that begins has a generation of its own", Change("catalog:_new_record", _in_generation_0))
def a_name_used_again_while_its_items_are_there(pipeline: Rig) -> None:
    """A board of totals alone ends, and TTL has deleted none of its items when its name is free."""
    stack = pipeline.functions(ENDING)
    pipeline.count(stack, "a", 10)
    pipeline.count(stack, "b", 7)
    pipeline.clock.milliseconds += 50 * DAY
    assert stack.get("/boards/b/points/all")[0] == 404
    pipeline.clock.milliseconds += 51 * DAY
    pipeline.count(stack, "a", 2, at=NOW)
    assert pipeline.scores(stack) == {"a": 2}


@Safeguard(
    "the projector leaves out changes of boards that have ended",
    Change("project.projector:_Batch._leave_ended", always(None)),
)
def projected_after_the_end(pipeline: Rig) -> None:
    """The stream brings a change when its board has ended."""
    stack = pipeline.functions(ENDING)
    pipeline.send(stack, "a", 10)
    pipeline.clock.milliseconds += 10 * DAY + 2 * MINUTE
    pipeline.project(stack, *pipeline.records())
    assert not entries(pipeline.engine)


@Safeguard(
    "an event that counted before the end is known after it",
    Change("write.writer:_Transaction._refuse_ended", _without_receipts),
)
def sent_again_after_the_end(pipeline: Rig) -> None:
    """SQS delivers an event again when its board has ended."""
    stack = pipeline.functions(ENDING)
    pipeline.send(stack, "a", 10, id="e", at=NOW)
    pipeline.clock.milliseconds += 11 * DAY
    pipeline.send(stack, "a", 10, id="e", at=NOW)
    assert stack.dead_letters.messages == []
