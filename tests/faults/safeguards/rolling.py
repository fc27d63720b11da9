"""Safeguards of rolling windows: rows, steps and list items."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from standings.aws.dynamodb.calls import conditional, put_if, transact
from standings.domain.rolling.count_log import Entry
from standings.domain.rolling.shifts import Shift
from standings.domain.rolling.steps import Step, Steps
from standings.domain.windows.calendar import DAY

from .replacing import Change, Safeguard, becomes, unconditionally

if TYPE_CHECKING:
    from collections.abc import Callable


def _rows_first(original: Callable[..., Any]) -> Callable[..., Any]:
    def commit(self: Any, rankings: Any, rows: Any, entry: Entry) -> Any:
        conflicts = original(self, rankings, rows, Entry(entry.written_at_ms, []))
        return conflicts if conflicts or not entry.changes else original(self, rankings, [], entry)

    return commit


def _counts_by_images(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, seen: original(self, self.passed[0] if self.passed else seen)


def _puts_unconditionally(_: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, item: put_if(self._client, {"TableName": self._table, "Item": item})


def _gone_deleted(original: Callable[..., Any]) -> Callable[..., Any]:
    def put(self: Any, item: Any) -> None:
        if "r" in item:
            original(self, item)
            return
        condition = conditional(self._table, "attribute_not_exists(v) OR v <= :v", {":v": item["v"]})
        transact(self._client, [{"Delete": {**condition, "Key": {"pk": item["pk"]}}}])

    return put


def _images_between_left_out(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda low, seen, _, after: original(low, seen, (), after)


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


def _undivided(original: Callable[..., Any]) -> Callable[..., Any]:
    def steps_of(*arguments: Any) -> Steps:
        low, divided = original(*arguments)
        steps: list[Step] = []
        for step in divided:
            if steps and (steps[-1].until, steps[-1].place) == (step.first, step.place):
                steps[-1] = steps[-1]._replace(until=step.until)
            else:
                steps.append(step)
        return Steps(low, tuple(steps))

    return steps_of


def _known_steps_alone(original: Callable[..., Any]) -> Callable[..., Any]:
    def moves(*arguments: Any) -> Any:
        for move in original(*arguments):
            yield replace(move, thorough=False) if isinstance(move, Shift) else move

    return moves


def _none_for_new_rows(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda shift, seen: () if seen is shift.steps else original(shift, seen)


def _until_unreadable(_: Callable[..., Any]) -> Callable[..., Any]:
    def expires(self: Any, unit: Any, index: int) -> int:
        windows = [window for window in self.windows if window.unit == unit]
        return max(self.timetable.readable_until(window, window.periods(index)[-1]) or 0 for window in windows)

    return expires


def _there_and_back_left_out(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: [shift for shift in original(*arguments) if shift.passed[0] != shift.steps]


_WINDOWS: Final = "aws.dynamodb.rankings.rolling_windows:DynamoRollingWindows"

ROLLING: Final = (
    Safeguard(
        "rows and the log entry with their counts are in one transaction",
        "a crash between the two leaves counts wrong for ever",
        (Change(f"{_WINDOWS}.commit", _rows_first),),
    ),
    Safeguard(
        "a row with steps is written only over the version that was read",
        "two attempts count the same change",
        (Change(f"{_WINDOWS}._row", unconditionally),),
    ),
    Safeguard(
        "counts change from the steps in the row, not from the steps in the record",
        "counts are wrong after a missing or repeated record",
        (Change("domain.rolling.shifts:Shift.count_changes", _counts_by_images),),
    ),
    Safeguard(
        "a period of a rolling window is updated until an hour after it could last be read",
        "a projector with a fast clock drops a period that a reader with a slow clock still reads",
        (Change("domain.rolling.rolling_rankings:SKIP_MARGIN", becomes(0)),),
        written="a_slab_ends_by_a_faster_clock",
    ),
    Safeguard(
        "a list item is written only over an older one",
        "a delayed attempt brings an older step back",
        (Change(f"{_WINDOWS}._put", _puts_unconditionally),),
        written="older_list_items_late",
    ),
    Safeguard(
        "a list item whose step is gone keeps its version",
        "a delayed attempt brings back a step that is gone",
        (Change(f"{_WINDOWS}._put", _gone_deleted),),
        written="list_items_of_a_hidden_member_late",
    ),
    Safeguard(
        "list items of every image in a batch are written",
        "list items that a crashed attempt wrote stay in the list, since no later attempt knows of them",
        (Change("domain.rolling.steps:firsts_to_write", _images_between_left_out),),
        written="hidden_after_half_an_attempt",
    ),
    Safeguard(
        "list items are written before the row",
        "after a crash between the two, the row says that all is done, but the list has not changed",
        (Change("project.shift_members:_shift", _list_last),),
        written="answer_of_the_row_lost",
    ),
    Safeguard(
        "the first step begins where its slab begins, even if its first periods can no longer be read",
        "two attempts begin the same step in different periods, and the list has it twice",
        (Change("domain.rolling.steps:steps_of", _readable_periods),),
        written="half_an_attempt_the_day_before",
    ),
    Safeguard(
        "a step is divided where a slab begins",
        "readers of the second slab do not find the step in its list",
        (Change("domain.rolling.steps:steps_of", _undivided),),
        written="a_step_across_slabs",
    ),
    Safeguard(
        "periods before the first one of a row are not counted again",
        "counts of periods that are no longer in the row are added twice",
        (Change("domain.rolling.steps:counted_from", lambda _: lambda _, after: after),),
        unneeded="A row begins too late only if a function with a shorter `late`, or with a fast clock, wrote it. "
        "Nobody reads the earlier periods: the board's record limits readers to the shorter `late` until a rebuild "
        "writes other rows, and clocks differ by less than the margin.",
    ),
    Safeguard(
        "a replay writes a list item for every possible first period",
        "list items of a crashed attempt stay for ever",
        (Change("maintain.failures.parked:ParkedCare._moves", _known_steps_alone),),
        written="parked_after_half_an_attempt",
    ),
    Safeguard(
        "a replay writes these list items even if the row is as new as the item",
        "list items of a crashed attempt stay for ever if another attempt has written the row since",
        (Change("project.shift_members:_items", _none_for_new_rows),),
        written="parked_and_projected",
    ),
    Safeguard(
        "a rebuild writes these list items for members that changed lately",
        "list items of a crashed attempt stay for ever in the new generation",
        (Change("maintain.rebuild.rebuild:_STREAM_AGE", becomes(-DAY)),),
        written="rebuilt_after_half_an_attempt",
    ),
    Safeguard(
        "accumulators are kept until their slab is over",
        "the steps of periods that nobody reads change when an accumulator is removed",
        (Change("domain.boards.definitions:Metric.expires", _until_unreadable),),
        unneeded="Without it, an accumulator is removed a day after its last period could be read. The projector "
        "handles that like any other change of the item. Keeping the accumulator longer saves the writes of periods "
        "that nobody reads.",
    ),
    Safeguard(
        "steps that change and change back still make a shift",
        "the middle record arrives late and is applied to a row that looks older",
        (Change("domain.rolling.shifts:shifts", _there_and_back_left_out),),
        written="steps_there_and_back",
    ),
)
