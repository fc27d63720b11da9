"""Rolling windows: rows, steps and list items, and the logs with the folds that take their entries into nodes."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from standings.aws.dynamodb.rolling import positions
from standings.aws.dynamodb.tables import DIGITS, conditional, get_item, log_key, node_key, put_if, transact
from standings.domain.rolling import LogEntry, Shift, Steps, node_deltas
from standings.domain.windows import DAY, HOUR, MINUTE, SECOND
from standings.runtime import clock
from standings.stores import StoreUnavailableError
from tests.support.aws.stack import ManualClock
from tests.support.faults.faulty_client import Faulty, conflict_at_end

from .replacing import Change, Safeguard, becomes, unconditional, unconditionally
from .rig import HIDE, NEXT_SLAB, NOW, ROLLING_POINTS, WINDOW, Rig, day, delivering, on_a_rig

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.aws.stack import Stack

# ---- schedules that need them


@dataclass
class Held(Faulty):
    """Does something else before it puts the first item with an attribute: that of list items, or of another kind."""

    meanwhile: Callable[[], None] | None = None
    attribute: str = "v"

    def put_item(self, **request: Any) -> Any:
        meanwhile = self.meanwhile
        if meanwhile is not None and self.attribute in request["Item"]:
            self.meanwhile = None
            meanwhile()
        return self.client.put_item(**request)


def _held_up(pipeline: Rig, stack: Stack, first: Any, second: Any) -> None:
    """Project a record, and beside it that record and the next one, before the first attempt writes its list items."""

    def meanwhile() -> None:
        pipeline.project(stack, first)
        pipeline.project(stack, second)

    held = Held(pipeline.engine, meanwhile=meanwhile)
    pipeline.project(pipeline.functions(ROLLING_POINTS, held), first)
    assert held.meanwhile is None


def _rolling(name: str, changes: Any, expected: dict[str, int], *steps: tuple[Any, ...]) -> Callable[[], None]:
    return delivering(name, changes, steps, expected, ROLLING_POINTS, WINDOW)


older_list_items_late: Final = _rolling("older_list_items_late", (10, 2), {"a": 12}, (_held_up, 0, 1))
list_items_of_a_hidden_member_late: Final = _rolling(
    "list_items_of_a_hidden_member_late", (10, HIDE), {}, (_held_up, 0, 1)
)
steps_there_and_back: Final = _rolling(
    "steps_there_and_back", (10, 2, -2), {"a": 10}, (Rig.project, 0), (Rig.project, 1, 2), (Rig.project, 1)
)
hidden_in_a_window_and_late: Final = _rolling(
    "hidden_in_a_window_and_late", (10, HIDE), {}, (Rig.project, 0), (Rig.project, 1), (Rig.project, 0)
)
hidden_after_half_an_attempt: Final = _rolling(
    "hidden_after_half_an_attempt", (10, HIDE), {}, (Rig.project_halfway, 0), (Rig.project, 0, 1)
)
parked_after_half_an_attempt: Final = _rolling(
    "parked_after_half_an_attempt", (10, HIDE), {}, (Rig.project_halfway, 0), (Rig.park, 1), (Rig.replay,)
)


@on_a_rig
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


@on_a_rig
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


@on_a_rig
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


@on_a_rig
def a_log_made_twice(pipeline: Rig) -> None:
    """Two projectors find no log. One is held up before it makes it, while the other one makes it and counts."""
    held = Held(pipeline.engine, attribute="l")
    stack, other = pipeline.functions(ROLLING_POINTS, held), pipeline.functions(ROLLING_POINTS)
    pipeline.send(stack, "a", 10)
    pipeline.send(stack, "b", 20)
    first, second = pipeline.records()
    held.meanwhile = lambda: pipeline.project(other, second)
    pipeline.project(stack, first)
    assert held.meanwhile is None
    answer = other.get(f"/boards/b/points/{WINDOW}/rank", score="5")[1]
    assert (answer["rank"], answer["total"]) == (3, 2), answer


@on_a_rig
def rolling_shards_of_another_definition(pipeline: Rig) -> None:
    """A reader with one shard in its definition reads what a projector has spread over nine."""
    stack, newer = (
        pipeline.functions(ROLLING_POINTS),
        pipeline.functions(ROLLING_POINTS.replace("\n", "\nshards = 9\n", 1)),
    )
    for number in range(20):
        pipeline.send(newer, f"m{number}", number)
    pipeline.project(newer, *pipeline.records())
    assert len(pipeline.scores(stack, WINDOW)) == 20


@on_a_rig
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


@on_a_rig
def rebuilt_after_half_an_attempt(pipeline: Rig) -> None:
    """A projector dies after it wrote list items of two generations.

    Another projector, which knows only the old generation, goes on. Then the member is hidden, and the rebuild places
    it.
    """
    stack, other = pipeline.functions(ROLLING_POINTS), pipeline.functions(ROLLING_POINTS)
    pipeline.count(stack, "b", 1, by=other)
    pipeline.rebuild(stack, until="announced")
    pipeline.send(stack, "a", 10)
    pipeline.hide(stack, "a")
    first, second = pipeline.records()
    pipeline.project_halfway(pipeline.functions(ROLLING_POINTS), first)
    pipeline.project(other, first, second)
    pipeline.rebuild(stack)
    assert pipeline.scores(stack, WINDOW) == {"b": 1}


@on_a_rig
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


# ---- how each is taken away


def _rows_first(original: Callable[..., Any]) -> Callable[..., Any]:
    def commit(self: Any, rankings: Any, rows: Any, entry: LogEntry) -> Any:
        conflicts = original(self, rankings, rows, LogEntry(entry.written_at_ms, []))
        return conflicts if conflicts or not entry.changes else original(self, rankings, [], entry)

    return commit


def _counts_by_images(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, seen: original(self, self.passed[0] if self.passed else seen)


def _puts_unconditionally(_: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, item: put_if(self._client, self._table, item, "attribute_not_exists(nothing)")


def _gone_deleted(original: Callable[..., Any]) -> Callable[..., Any]:
    def put(self: Any, item: Any) -> None:
        if "r" in item:
            original(self, item)
            return
        condition = conditional(self._table, "attribute_not_exists(v) OR v <= :v", {":v": item["v"]})
        transact(self._client, [{"Delete": {**condition, "Key": {"pk": item["pk"]}}}])

    return put


def _emptied_deleted(original: Callable[..., Any]) -> Callable[..., Any]:
    def row(self: Any, rankings: Any, change: Any) -> Any:
        action = original(self, rankings, change)
        if change.row.steps.steps:
            return action
        request = {name: value for name, value in action["Put"].items() if name != "Item"}
        return {"Delete": {**request, "Key": {"pk": action["Put"]["Item"]["pk"]}}}

    return row


def _row_left_out(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda window, low, _, others, after: original(window, low, None, others, after)


def _images_between_left_out(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda window, low, seen, _, after: original(window, low, seen, (), after)


class _RowsFirst:
    """Rolling windows whose list items are written after the rows."""

    def __init__(self, windows: Any) -> None:
        self._windows = windows
        self._items: tuple[Any, ...] = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._windows, name)

    def list(self, *items: Any) -> None:
        self._items = items

    def commit(self, *arguments: Any) -> Any:
        conflicts = self._windows.commit(*arguments)
        if not conflicts:
            self._windows.list(*self._items)
        return conflicts


def _list_last(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda windows, *arguments: original(_RowsFirst(windows), *arguments)


def _readable_periods(original: Callable[..., Any]) -> Callable[..., Any]:
    def steps_of(image: Any, rankings: Any, now: int) -> Steps:
        low = rankings.first_open(now)
        steps = (step._replace(first=max(step.first, low)) for step in original(image, rankings, now).steps)
        return Steps(low, tuple(step for step in steps if step.until > low))

    return steps_of


def _known_steps_alone(original: Callable[..., Any]) -> Callable[..., Any]:
    def moves(*arguments: Any) -> Any:
        for move in original(*arguments):
            yield replace(move, rewrite_every_item=False) if isinstance(move, Shift) else move

    return moves


def _none_for_new_rows(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda shift, seen: () if seen is shift.steps else original(shift, seen)


def _there_and_back_left_out(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: [shift for shift in original(*arguments) if shift.passed[0] != shift.steps]


_WINDOWS: Final = "aws.dynamodb.rolling:RollingWindows"


ROLLING: Final = {
    "rows and the log entry with their counts are in one transaction": Safeguard(
        Change(f"{_WINDOWS}.commit", _rows_first)
    ),
    "a row with steps is written only over the version that was read": Safeguard(
        Change(f"{_WINDOWS}._row", unconditionally)
    ),
    "counts change from the steps in the row, not from the steps in the record": Safeguard(
        Change("domain.rolling:Shift.count_changes", _counts_by_images)
    ),
    "a period of a rolling window is updated until an hour after it could last be read": Safeguard(
        Change("domain.rolling:SKIP_MARGIN", becomes(0)), written=a_slab_ends_by_a_faster_clock
    ),
    "a list item is written only over an older one": Safeguard(
        Change(f"{_WINDOWS}._put", _puts_unconditionally), written=older_list_items_late
    ),
    "a list item whose step is gone keeps its version": Safeguard(
        Change(f"{_WINDOWS}._put", _gone_deleted), written=list_items_of_a_hidden_member_late
    ),
    "a row whose steps are gone stays": Safeguard(
        Change(f"{_WINDOWS}._row", _emptied_deleted), written=hidden_in_a_window_and_late
    ),
    "list items of the steps in the row are written": Safeguard(
        Change("domain.rolling:blocks_to_write", _row_left_out), written=back_on_another_day_after_a_gap
    ),
    "list items of every image in a batch are written": Safeguard(
        Change("domain.rolling:blocks_to_write", _images_between_left_out), written=hidden_after_half_an_attempt
    ),
    "list items are written before the row": Safeguard(Change("project.commits:_shift", _list_last)),
    "steps are complete from the beginning of a slab, even if its first periods can no longer be read": Safeguard(
        Change("domain.rolling:steps_of", _readable_periods), written=half_an_attempt_the_day_before
    ),
    "a replay writes a list item for every block that may have one": Safeguard(
        Change("maintain.failures:ParkedRecords._moves", _known_steps_alone), written=parked_after_half_an_attempt
    ),
    "a replay writes these list items even if the row is as new as the item": Safeguard(
        Change("project.commits:_items", _none_for_new_rows), written=parked_and_projected
    ),
    "a rebuild writes these list items for members that changed lately": Safeguard(
        Change("maintain.rebuild:_STREAM_AGE", becomes(-DAY)), written=rebuilt_after_half_an_attempt
    ),
    "steps that change and change back still make a shift": Safeguard(
        Change("domain.rolling:shifts", _there_and_back_left_out), written=steps_there_and_back
    ),
}


def _without_position(original: Callable[..., Any]) -> Callable[..., Any]:
    def update(self: Any, *arguments: Any) -> Any:
        request, name = original(self, *arguments), f"p{self._number}"
        values = {key: value for key, value in request["ExpressionAttributeValues"].items() if key != f":{name}"}
        expression = request["UpdateExpression"].replace(f"{name} = :{name}, ", "")
        return {**request, "UpdateExpression": expression, "ExpressionAttributeValues": values}

    return update


def _unconditional(request: dict[str, Any]) -> dict[str, Any]:
    update: dict[str, Any] = unconditional({"Update": request})["Update"]
    return update


def _seen_unconditionally(original: Callable[..., Any]) -> Callable[..., Any]:
    def update(*arguments: Any) -> Any:
        request = original(*arguments)
        return request if "attribute_not_exists" in request["ConditionExpression"] else _unconditional(request)

    return update


def _first_periods_left_out(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda entries, periods: original(entries, range(periods.start + 3, periods.stop))


def _gives_up(original: Callable[..., Any]) -> Callable[..., Any]:
    def bring(*arguments: Any) -> None:
        with suppress(StoreUnavailableError):
            original(*arguments)

    return bring


def _cleans(original: Callable[..., Any]) -> Callable[..., Any]:
    def bring(self: Any, period: int, path: Any, counters: Any) -> None:
        original(self, period, path, counters)
        key = {"pk": {"S": node_key(self._rankings.at(period).key, path)}}
        node = get_item(self._client, self._table, key, consistent=True) or {}
        at = {f"p{number}": position for number, position in positions(node).items()}
        if at and not any(int(node[name]["N"]) for name in DIGITS if name in node):
            values = {f":{name}": {"N": str(position)} for name, position in at.items()}
            condition = conditional(self._table, " AND ".join(f"{name} = :{name}" for name in at), values)
            transact(self._client, [{"Delete": {**condition, "Key": key}}])

    return bring


class _Updates:
    """A client that changes the requests of updates. Nothing is updated where it makes them None."""

    def __init__(self, client: Any, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
        self._client = client
        self._change = change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def update_item(self, **request: Any) -> Any:
        changed = self._change(request)
        return self._client.update_item(**changed) if changed is not None else {}


def _with_updates(change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Callable[[Any], Callable[..., Any]]:
    """Replace a method by one that uses such a client."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def method(self: Any, *arguments: Any) -> Any:
            other = copy(self)
            other._client = _Updates(self._client, change)
            return original(other, *arguments)

        return method

    return make


def _made_again(_: Callable[..., Any]) -> Callable[..., Any]:
    def make(self: Any, rankings: Any, number: int, more: Any) -> bool:
        begun = {"pk": {"S": log_key(rankings.key, number)}, "b": {"N": str(self._clock.now())}}
        item: Any = {**begun, "l": {"L": []}, "z": {"N": "0"}, **more}
        return put_if(self._client, self._table, item, "attribute_not_exists(nothing)")

    return make


_FOLD: Final = "aws.dynamodb.rolling:_Fold"


LOGS: Final = {
    "a node remembers its position in each log": Safeguard(Change(f"{_FOLD}._update", _without_position)),
    "a fold adds only what a node lacks": Safeguard(
        Change(f"{_FOLD}._update", lambda original: lambda *arguments: _unconditional(original(*arguments)))
    ),
    "a fold that has read a node updates it only at the position that it read": Safeguard(
        Change(f"{_FOLD}._update", _seen_unconditionally)
    ),
    "a log is cut only when every node has its entries": Safeguard(Change(f"{_FOLD}.advance", _gives_up)),
    "a log is cut only if it still begins where the fold read it": Safeguard(
        Change(f"{_FOLD}.cut", _with_updates(_unconditional))
    ),
    "a fold also updates nodes whose changes cancel out": Safeguard(
        Change("domain.rolling:fold_deltas", lambda _: node_deltas)
    ),
    "a fold leaves out only periods that nobody can read": Safeguard(
        Change("aws.dynamodb.rolling:fold_deltas", _first_periods_left_out)
    ),
    "an empty node of a rolling window is not removed": Safeguard(Change(f"{_FOLD}.advance", _cleans)),
    "log 0 lists a shard before a list item is written to it": Safeguard(
        Change(f"{_WINDOWS}._prepare", lambda _: lambda self, rankings: self._make(rankings, 0, {"n": {"NS": ["1"]}})),
        written=rolling_shards_of_another_definition,
    ),
    "log 0 names a log before it is used": Safeguard(
        Change(f"{_WINDOWS}._change_log", _with_updates(lambda _: None)), written=counted_in_another_log
    ),
    "a log is made only if it does not exist": Safeguard(
        Change(f"{_WINDOWS}._make", _made_again), written=a_log_made_twice
    ),
}
