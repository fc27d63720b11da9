"""Rolling windows: rows, steps and list items, and the logs with the folds that take their entries into nodes."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import copy
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final
from unittest import mock

from standings.aws.dynamodb.tables import DIGITS, conditional, get_item, log_key, node_key, put_if, transact
from standings.domain.windows import DAY, HOUR, MINUTE, SECOND
from standings.rankings.rolling.reading import positions
from standings.rankings.rolling.steps import LogEntry, RollingRow, Shift, Steps, node_deltas
from standings.runtime import clock
from standings.stores import StoreUnavailableError
from tests.support.aws.stack import ManualClock
from tests.support.faults.faulty_client import Faulty, conflict_at_end

from .replacing import Change, Safeguard, Schedule, always, deleting, unconditional, unconditionally
from .rig import HIDE, NEXT_SLAB, NOW, ROLLING_POINTS, WINDOW, Rig, day, delivering

WINDOWS: Final = "rankings.rolling.storing:RollingStorage"

# ---- rows, steps and list items


def _rolling(name: str, changes: Any, expected: dict[str, int], *steps: tuple[Any, ...]) -> Schedule:
    return delivering(name, changes, steps, expected, ROLLING_POINTS, WINDOW)


def _rows_first(original: Any, self: Any, rankings: Any, rows: Any, entry: LogEntry) -> Any:
    conflicts = original(self, rankings, rows, LogEntry(entry.written_at_ms, []))
    return conflicts if conflicts or not entry.changes else original(self, rankings, [], entry)


def _counts_by_records(original: Any, group: Any, rows: Any) -> Any:
    believed = {shift.member: shift.passed[0] for shift in group if shift.passed}
    read = {
        name: row._replace(steps=believed[name]) if name in believed and isinstance(row, RollingRow) else row
        for name, row in rows.items()
    }
    return original(group, read)


Safeguard("rows and the log entry with their counts are in one transaction", Change(f"{WINDOWS}.append", _rows_first))
Safeguard("a row with steps is written only over the version that was read", Change(f"{WINDOWS}._row", unconditionally))
Safeguard(
    "counts change from the steps in the row, not from the steps in the record",
    Change("rankings.rolling.storing:plan_of", _counts_by_records),
)


@Safeguard(
    "a period of a rolling window is updated until an hour after it could last be read",
    Change("rankings.rolling.steps:SKIP_MARGIN", always(0)),
)
def a_slab_ends_by_a_faster_clock(pipeline: Rig) -> None:
    """By a projector's clock, the last period of a slab can no longer be read. By a slower reader's clock it can."""
    fast = ManualClock(NOW)
    ahead, stack = pipeline.functions(ROLLING_POINTS, clock=fast), pipeline.functions(ROLLING_POINTS)
    pipeline.clock.milliseconds = NEXT_SLAB - 10 * HOUR
    pipeline.count(stack, "a", 10)
    # The last period of a slab is readable until the first of the next one ends.
    pipeline.clock.milliseconds = NEXT_SLAB + DAY - 30 * SECOND
    fast.milliseconds = pipeline.clock.milliseconds + 60 * SECOND
    pipeline.count(ahead, "a", 1)
    status, answer = stack.get(f"/boards/b/points/{WINDOW}/rank", member="a", period=day(NEXT_SLAB - DAY))
    assert (status, answer.get("score")) == (200, 10), answer


def _puts_unconditionally(_: Any, self: Any, item: Any) -> Any:
    return put_if(self._client, self._table, item, "attribute_not_exists(nothing)")


Safeguard("a list item is written only over an older one", Change(f"{WINDOWS}._put", _puts_unconditionally))


def _gone_deleted(original: Any, self: Any, item: Any) -> None:
    if "r" in item:
        original(self, item)
        return
    condition = conditional(self._table, "attribute_not_exists(v) OR v <= :v", {":v": item["v"]})
    transact(self._client, [{"Delete": {**condition, "Key": {"pk": item["pk"]}}}])


Safeguard("a list item whose step is gone keeps its version", Change(f"{WINDOWS}._put", _gone_deleted))


def _emptied_deleted(original: Any, self: Any, row: Any) -> Any:
    action = original(self, row)
    return action if row.steps.steps else deleting(action)


_LATE: Final = ((Rig.project, 0), (Rig.project, 1), (Rig.project, 0))
Safeguard("a row whose steps are gone stays", Change(f"{WINDOWS}._row", _emptied_deleted))(
    _rolling("hidden_in_a_window_and_late", (10, HIDE), {}, *_LATE)
)


@Safeguard(
    "list items of the steps in the row are written",
    Change(
        "rankings.rolling.steps:blocks_to_write",
        lambda original, window, low, _, others, after: original(window, low, None, others, after),
    ),
)
def back_on_another_day_after_a_gap(pipeline: Rig) -> None:
    """A member is removed and comes back the next day. The record of its removal is never delivered."""
    stack = pipeline.functions(ROLLING_POINTS)
    pipeline.count(stack, "a", 10)
    stack.delete("/boards/b/member", id="a")
    pipeline.clock.milliseconds += DAY
    pipeline.send(stack, "a", 5)
    _, back = pipeline.records()
    pipeline.project(stack, back)
    assert pipeline.scores(stack, WINDOW) == {"a": 5}


Safeguard(
    "list items of every image in a batch are written",
    Change(
        "rankings.rolling.steps:blocks_to_write",
        lambda original, window, low, seen, _, after: original(window, low, seen, (), after),
    ),
)(_rolling("hidden_after_half_an_attempt", (10, HIDE), {}, (Rig.project_halfway, 0), (Rig.project, 0, 1)))


def _items_last(original: Any, self: Any, rankings: Any, plan: Any) -> Any:
    conflicts = self.append(rankings, plan.rows, plan.entry) if plan.rows else ()
    return conflicts or original(self, rankings, replace(plan, rows=[]))


Safeguard(
    "list items are written before the row",
    Change(f"{WINDOWS}.write", _items_last),
)


def _readable_periods(original: Any, image: Any, rankings: Any, now: int) -> Steps:
    low = rankings.first_open(now)
    steps = (step._replace(first=max(step.first, low)) for step in original(image, rankings, now).steps)
    return Steps(low, tuple(step for step in steps if step.until > low))


@Safeguard(
    "steps are complete from the beginning of a slab, even if its first periods can no longer be read",
    Change("rankings.rolling.steps:steps_of", _readable_periods),
)
def half_an_attempt_the_day_before(pipeline: Rig) -> None:
    """A member is shown again late in the evening. The projector dies after it wrote list items.

    The next attempt comes after midnight, when one period less can be read, and hides the member too.
    """
    stack = pipeline.functions(ROLLING_POINTS)
    # In the block of its second to fourth periods, and the day after in others.
    pipeline.clock.milliseconds = NEXT_SLAB + DAY + 12 * HOUR
    pipeline.send(stack, "a", 10)
    pipeline.hide(stack, "a")
    pipeline.project(stack, *pipeline.records())
    pipeline.clock.milliseconds = NEXT_SLAB + 3 * DAY - 30 * MINUTE
    pipeline.hide(stack, "a", hidden=False)
    (shown,) = pipeline.records()
    pipeline.project_halfway(stack, shown)
    pipeline.clock.milliseconds = NEXT_SLAB + 3 * DAY + 2 * HOUR
    pipeline.hide(stack, "a")
    pipeline.project(stack, shown, *pipeline.records())
    assert pipeline.scores(stack, WINDOW, day(NEXT_SLAB + 2 * DAY)) == {}


def _known_steps_alone(original: Any, *arguments: Any) -> Iterator[Any]:
    for move in original(*arguments):
        yield replace(move, rewrite_every_item=False) if isinstance(move, Shift) else move


_PARKED: Final = ((Rig.project_halfway, 0), (Rig.park, 1), (Rig.replay,))
Safeguard(
    "a replay writes a list item for every block that may have one",
    Change("maintain.failures:ParkedRecords._moves", _known_steps_alone),
)(_rolling("parked_after_half_an_attempt", (10, HIDE), {}, *_PARKED))


@Safeguard(
    "a replay writes these list items even if the row is as new as the item",
    Change(
        "rankings.rolling.steps:list_items",
        lambda original, shift, seen: () if seen is shift.steps else original(shift, seen),
    ),
)
def parked_and_projected(pipeline: Rig) -> None:
    """A projector dies after it wrote list items. The record is parked, and so is the next, which removes the member.

    A day later the member has an event, which is projected.
    """
    stack = pipeline.functions(ROLLING_POINTS)
    pipeline.send(stack, "a", 10)
    stack.delete("/boards/b/member", id="a")
    pipeline.clock.milliseconds += DAY
    pipeline.send(stack, "a", 5)
    first, _, third = pipeline.records()
    pipeline.project_halfway(stack, first)
    pipeline.project(stack, third)
    pipeline.park(stack, first)
    pipeline.replay(stack)
    assert pipeline.scores(stack, WINDOW, day(NOW)) == {}
    assert pipeline.scores(stack, WINDOW) == {"a": 5}


@Safeguard(
    "a rebuild writes these list items for members that changed lately",
    Change("maintain.rebuild:_STREAM_AGE", always(-DAY)),
)
def rebuilt_after_half_an_attempt(pipeline: Rig) -> None:
    """A projector dies after it wrote list items of two generations. Then the member is hidden.

    Another projector, which knows only the old generation, goes on, and the rebuild places the member.
    """
    stack, other = pipeline.functions(ROLLING_POINTS), pipeline.functions(ROLLING_POINTS)
    pipeline.count(stack, "b", 1, by=other)
    pipeline.rebuild(stack, until="announced")
    pipeline.send(stack, "a", 10)
    records = pipeline.records()
    pipeline.project_halfway(pipeline.functions(ROLLING_POINTS), *records)
    pipeline.hide(stack, "a")
    pipeline.project(other, *records, *pipeline.records())
    pipeline.rebuild(stack)
    assert pipeline.scores(stack, WINDOW) == {"b": 1}


def _there_and_back_left_out(original: Any, *arguments: Any) -> Any:
    return [shift for shift in original(*arguments) if shift.passed[0] != shift.steps]


_ONE_BATCH_LATE: Final = ((Rig.project, 0), (Rig.project, 1, 2), (Rig.project, 1))
Safeguard(
    "steps that change and change back still make a shift",
    Change("rankings.rolling.steps:shifts", _there_and_back_left_out),
)(_rolling("steps_there_and_back", (10, 2, -2), {"a": 10}, *_ONE_BATCH_LATE))

# ---- logs and folds

FOLD: Final = "rankings.rolling.storing:_Fold"


def _without_position(original: Any, self: Any, *arguments: Any) -> Any:
    request, name = original(self, *arguments), f"p{self._number}"
    values = {key: value for key, value in request["ExpressionAttributeValues"].items() if key != f":{name}"}
    expression = request["UpdateExpression"].replace(f"{name} = :{name}, ", "")
    return {**request, "UpdateExpression": expression, "ExpressionAttributeValues": values}


Safeguard("a node remembers its position in each log", Change(f"{FOLD}._update", _without_position))


def _unconditional(request: dict[str, Any]) -> dict[str, Any]:
    update: dict[str, Any] = unconditional({"Update": request})["Update"]
    return update


Safeguard(
    "a fold adds only what a node lacks",
    Change(f"{FOLD}._update", lambda original, *arguments: _unconditional(original(*arguments))),
)


def _seen_unconditionally(original: Any, *arguments: Any) -> Any:
    request = original(*arguments)
    return request if "attribute_not_exists" in request["ConditionExpression"] else _unconditional(request)


Safeguard(
    "a fold that has read a node updates it only at the position that it read",
    Change(f"{FOLD}._update", _seen_unconditionally),
)


def _gives_up(original: Any, *arguments: Any) -> None:
    with suppress(StoreUnavailableError):
        original(*arguments)


Safeguard("a log is cut only when every node has its entries", Change(f"{FOLD}.advance", _gives_up))


def _with_updates(change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Callable[..., Any]:
    """Let a method change the requests of its updates. Nothing is updated where they become None."""

    class Updates(Faulty):
        def update_item(self, **request: Any) -> Any:
            changed = change(request)
            return self.client.update_item(**changed) if changed is not None else {}

    def method(original: Any, self: Any, *arguments: Any) -> Any:
        other = copy(self)
        other._client = Updates(self._client)
        return original(other, *arguments)

    return method


Safeguard(
    "a log is cut only if it still begins where the fold read it", Change(f"{FOLD}.cut", _with_updates(_unconditional))
)
Safeguard(
    "a fold also updates nodes whose changes cancel out",
    Change("rankings.rolling.storing:fold_deltas", lambda _, *arguments: node_deltas(*arguments)),
)


def _first_periods_left_out(original: Any, entries: Any, periods: range) -> Any:
    return original(entries, range(periods.start + 3, periods.stop))


Safeguard(
    "a fold leaves out only periods that nobody can read",
    Change("rankings.rolling.storing:fold_deltas", _first_periods_left_out),
)


def _cleans(original: Any, self: Any, period: int, path: Any, counters: Any) -> None:
    original(self, period, path, counters)
    key = {"pk": {"S": node_key(self._rankings.at(period).key, path)}}
    node = get_item(self._client, self._table, key, consistent=True) or {}
    at = {f"p{number}": position for number, position in positions(node).items()}
    if at and not any(int(node[name]["N"]) for name in DIGITS if name in node):
        values = {f":{name}": {"N": str(position)} for name, position in at.items()}
        condition = conditional(self._table, " AND ".join(f"{name} = :{name}" for name in at), values)
        transact(self._client, [{"Delete": {**condition, "Key": key}}])


Safeguard("an empty node of a rolling window is not removed", Change(f"{FOLD}.advance", _cleans))


@Safeguard(
    "log 0 lists a shard before a list item is written to it",
    Change(f"{WINDOWS}._prepare", lambda _, self, rankings: self._make(rankings, 0, {"n": {"NS": ["1"]}})),
)
def rolling_shards_of_another_definition(pipeline: Rig) -> None:
    """A reader with one shard in its definition reads what a projector has spread over nine."""
    pipeline.spread(ROLLING_POINTS)
    assert len(pipeline.scores(pipeline.functions(ROLLING_POINTS), WINDOW)) == 20


@Safeguard("log 0 names a log before it is used", Change(f"{WINDOWS}._change_log", _with_updates(always(None))))
def counted_in_another_log(pipeline: Rig) -> None:
    """A projector meets other projectors at log 0, and goes on with log 1."""
    chance = SimpleNamespace(random=lambda: 0.9)
    pipeline.stacks.enter_context(mock.patch.object(clock, "random", chance))
    stack = pipeline.functions(ROLLING_POINTS)
    pipeline.send(stack, "a", 10)
    pipeline.client.steps.extend([conflict_at_end] * 2)
    pipeline.project(stack, *pipeline.records())
    answer = pipeline.functions(ROLLING_POINTS).get(f"/boards/b/points/{WINDOW}/rank", score="5")[1]
    assert (answer["rank"], answer["total"]) == (2, 1), answer


def _made_again(_: Any, self: Any, rankings: Any, number: int, more: Any) -> bool:
    begun = {"pk": {"S": log_key(rankings.key, number)}, "b": {"N": str(self._clock.now())}}
    item: Any = {**begun, "l": {"L": []}, "z": {"N": "0"}, **more}
    return put_if(self._client, self._table, item, "attribute_not_exists(nothing)")


@Safeguard("a log is made only if it does not exist", Change(f"{WINDOWS}._make", _made_again))
def a_log_made_twice(pipeline: Rig) -> None:
    """Two projectors find no log. One is held up before it makes it, while the other one makes it and counts."""
    stack, other = pipeline.functions(ROLLING_POINTS), pipeline.functions(ROLLING_POINTS)
    pipeline.send(stack, "a", 10)
    pipeline.send(stack, "b", 20)
    first, second = pipeline.records()
    pipeline.once(lambda: pipeline.project(other, second), "PutItem", "'l'")
    pipeline.project(stack, first)
    answer = other.get(f"/boards/b/points/{WINDOW}/rank", score="5")[1]
    assert (answer["rank"], answer["total"]) == (3, 2), answer
