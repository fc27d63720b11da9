"""A member in a rolling window: its steps, the blocks of periods that they are made up of, and how both are stored.

An event of today counts in the periods of today and of the next days alike. So a member has far fewer *steps* (ranges
of periods with one place each) than periods. Steps follow from the member's item alone: two attempts that see the same
item find the same steps. A member has one row with its steps, and an item in the list of each *block* that they are
made up of. A page of a period merges the lists of all blocks that contain it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

import orjson

from standings.aws.dynamodb.tables import Item, entry_key, index_key, shard_of
from standings.domain.boards import Boards, Family, Metric, Ranking, generation_code
from standings.domain.members import AHEAD_MARGIN, SKIP_MARGIN, Change, Image, aggregate_of, contributions
from standings.domain.scoring import Place, SortValues, place_of, sort_key
from standings.domain.tiers import Counters, Path, deltas, summed
from standings.domain.windows import DAY, HOUR, Unit, Window
from standings.rankings import EXPIRY_MARGIN, ROW_LIFETIME
from standings.rankings.commits import expiry_of
from standings.stores import StoreRefusedError

_WHOLE: Final = "-?[0-9]{1,17}+"
_LIST: Final = rf"\[{_WHOLE}(?:,{_WHOLE})++\]"  # Several sort values
_STEP: Final = rf"\[{_WHOLE},[1-9][0-9]{{0,4}}+,(?>{_WHOLE}|{_LIST})(?:,{_WHOLE})?\]"  # Below 100,000 periods
_STEPS: Final = re.compile(rf"\[{_WHOLE}(?:,{_STEP})*+\]")
_CHANGE: Final = rf"{_WHOLE},[1-9][0-9]{{0,16}}+(?:,(?>{_WHOLE}|null|{_LIST})){{2}}"
_ENTRY: Final = re.compile(rf"\[{_WHOLE}(?:,{_CHANGE})*+\]")
_LENGTH: Final[dict[Unit, int]] = {"h": HOUR, "d": DAY}


def shifts(
    boards: Boards, changes: Iterable[Change], generations: Sequence[int] = (0,), board_ends: int | None = None
) -> "list[Shift]":
    """The shifts of one member, from its first image to its last, in each generation.

    Steps that changed and changed back are a shift too: the row must get the newest version, so that a late record from
    in between is not applied.
    """
    ordered = sorted(changes, key=lambda change: change.new.version)
    last = ordered[-1].new
    family = boards.family(last.board)
    found: list[Shift] = []
    for rankings in rolling_windows(family, last.board) if family is not None else ():
        passed = [steps_of(image, rankings, last.written_at_ms) for change in ordered for image in change]
        if any(old != new for old, new in zip(passed[::2], passed[1::2], strict=True)):
            for generation in generations:
                of = rankings._replace(generation=generation, board_ends=board_ends)
                found.append(Shift(of, last.member, passed[:-1], passed[-1], last.version, last.written_at_ms))
    return found


@dataclass(slots=True)
class Shift:
    """A member's new steps in a rolling window.

    `passed` are the steps of every image in between, and of the one before, if it is known.
    `rewrite_every_item`: other attempts may have written list items of images that are not known here, in any block.
    """

    ranking: "RollingRankings"
    member: str
    passed: "Sequence[Steps]"
    steps: "Steps"
    version: int
    written_at_ms: int
    rewrite_every_item: bool = False


def rolling_windows(family: Family, board: str) -> "Iterator[RollingRankings]":
    """The rankings of every rolling window of a board."""
    for metric in family.metrics.values():
        for window in metric.windows:
            if window.rolling:
                yield RollingRankings(board, metric, window)


class Steps(NamedTuple):
    """A member's steps, by first period. They are complete from the period `low` on."""

    low: int
    steps: "tuple[Step, ...]" = ()

    def place(self, period: int) -> Place | None:
        """The member's place in a period from `low` on; None if it has none."""
        return next((step.place for step in self.steps if step.first <= period < step.until), None)

    def by_block(self, window: Window, low: int) -> "dict[Block, Place]":
        """The blocks that the steps are made up of, and the place in each: `{Block(20776, 2): Place(-300)}`.

        Blocks that end before `low` are left out.
        """
        return {
            block: step.place
            for step in self.steps
            if step.until > low
            for block in blocks_of(window, step.first, step.until)
            if block.until > low
        }


class Step(NamedTuple):
    """A member's place in the periods from `first` to the one before `until`."""

    first: int
    until: int
    place: Place


def steps_of(image: Image | None, rankings: "RollingRankings", now: int) -> Steps:
    """The steps of an item that was written at `now`; those of a hidden member are none.

    They are complete from the beginning of a slab on, although the slab's first periods may no longer be readable: else
    the blocks of the first step would follow from when the item was read.
    """
    low = rankings.window.slab_of(rankings.first_open(now)).start
    if image is None or image.hidden:
        return Steps(low)
    metric = rankings.metric
    parts = [
        (each, [part for part in contributions(image, each, rankings.window) if part.until > low])
        for each in (metric, *metric.separate_tie_breaks)
    ]
    edges = {max(edge, low) for _, some in parts for part in some for edge in (part.first, part.until)}
    steps: list[Step] = []
    for start, until in pairwise(sorted(edges)):
        aggregate, *tie_breaks = (aggregate_of(image, each, some, start) for each, some in parts)
        if aggregate is None or not metric.ranks(aggregate.value):
            continue
        place = place_of(metric, aggregate, tie_breaks)
        last = steps[-1] if steps else None
        if last is not None and last.until == start and last.place == place:
            steps[-1] = last._replace(until=until)
        else:
            steps.append(Step(start, until, place))
    return Steps(low, tuple(steps))


def counted_from(before: Steps | None, after: Steps) -> Steps:
    """The steps to store in place of those of the row that was read, without periods before that row's `low`."""
    if before is None or before.low <= after.low:
        return after
    return Steps(before.low, tuple(step for step in after.steps if step.until > before.low))


class CountChange(NamedTuple):
    """One member less at some sort values, and one more at others (None: nowhere), in a range of periods."""

    first: int
    until: int
    old: SortValues | None
    new: SortValues | None


def count_changes(before: Steps | None, after: Steps) -> list[CountChange]:
    """How the counts change, from the first period of `after` on, if a row's steps are replaced."""
    before = before or Steps(after.low)
    edges = {max(edge, after.low) for step in (*before.steps, *after.steps) for edge in (step.first, step.until)}
    changes: list[CountChange] = []
    for start, until in pairwise(sorted(edges)):
        places = before.place(start), after.place(start)
        values = [None if place is None else place.values for place in places]
        if changes and [*changes[-1][1:]] == [start, *values]:
            changes[-1] = changes[-1]._replace(until=until)
        else:
            changes.append(CountChange(start, until, *values))
    return [change for change in changes if change.old != change.new]


def blocks_to_write(
    window: Window, low: int, seen: Steps | None, others: Iterable[Steps], after: Steps
) -> "list[Block]":
    """The blocks of the list items to write, for steps that replace those of the row that was read.

    An item is left as it is only if it is the same in the row, in the new steps, and in all `others`: those of every
    image in between, since an attempt that failed halfway may have written any of them.
    """
    versions = [steps.by_block(window, low) for steps in (seen or Steps(low), *others, after)]
    blocks = sorted({block for version in versions for block in version})
    return [block for block in blocks if len({version.get(block) for version in versions}) > 1]


class RollingRankings(NamedTuple):
    """All rankings of a rolling window on a board, in one generation. `board_ends` is as that of `Ranking`."""

    board: str
    metric: Metric
    window: Window
    generation: int = 0
    board_ends: int | None = None

    @property
    def key(self) -> str:
        """A ranking's key without the period, which rows and logs have in their keys: `berlin-2026#i4q7d`."""
        code = self.metric.ranking_code(self.window)
        return f"{self.board}#{code}{generation_code(self.generation)}"

    @property
    def unit(self) -> Unit:
        """The unit of the window's buckets. Raises ValueError for `all`, which is no rolling window."""
        if self.window.unit is None:
            raise ValueError(f"expected a rolling window, got {self.window.name!r}")
        return self.window.unit

    def at(self, period: int) -> Ranking:
        """The ranking of one period."""
        return Ranking(self.board, self.metric, self.window, period, self.generation)

    def readable_until(self, period: int) -> int:
        """The instant from which a period can no longer be read."""
        return self.metric.timetable.readable_until(self.window, period) or 0

    def first_open(self, now: int) -> int:
        """The first period that can be read at `now`, or could be read until `SKIP_MARGIN` before."""
        timetable, unit, earliest = self.metric.timetable, self.unit, now - SKIP_MARGIN
        period = max(0, timetable.index(unit, max(0, earliest - max(timetable.late_for(unit), _LENGTH[unit]))))
        while self.readable_until(period) <= earliest:
            period += 1
        while period > 0 and self.readable_until(period - 1) > earliest:
            period -= 1
        return period


def rolling_of(ranking: Ranking) -> RollingRankings:
    """The rankings of all periods of a ranking's window."""
    return RollingRankings(ranking.board, ranking.metric, ranking.window, ranking.generation)


class Block(NamedTuple):
    """The periods from `first` on, `length` of them. Each block has a list, with the members of all its periods.

    A member's step is made up of blocks. So each member of a period is in one list of the blocks that contain the
    period, and nobody else is in any of them: a page merges these lists, and reads past nobody. In a slab of 8 periods
    with blocks of up to 4, the step of periods 1 to 4 is made up of the blocks 1, 2 to 3, and 4; period 2 is in the
    blocks 2, 2 to 3, 0 to 2, 1 to 3 and 0 to 3.

    A block of 1, 2, 4, 8 or 16 periods begins at a multiple of its length. One of 3 or 6 periods is three quarters of a
    block of 4 or 8: all but its last quarter, or all but its first.
    """

    first: int
    length: int

    @property
    def code(self) -> str:
        """The block in a list's key: its first period, and its length if that is not 1, as in `20776x4`."""
        return str(self.first) if self.length == 1 else f"{self.first}x{self.length}"

    @property
    def until(self) -> int:
        """The period behind the last one."""
        return self.first + self.length


def blocks_of(window: Window, first: int, until: int) -> Iterator[Block]:
    """The fewest blocks that make up the periods from `first` to before `until`. None reaches into another slab."""
    size = len(window.slab_of(first))
    for slab in range(window.slab_of(first).start, until, size):
        for start, length in _cover(max(0, first - slab), min(size, until - slab), size, window.longest_block):
            yield Block(slab + start, length)


def blocks_within(window: Window, first: int, until: int) -> Iterator[Block]:
    """Every block that reaches into the periods from `first` to before `until`."""
    size = len(window.slab_of(first))
    for slab in range(window.slab_of(first).start, until, size):
        for block in _blocks_of_slab(size, window.longest_block):
            moved = Block(slab + block.first, block.length)
            if moved.first < until and moved.until > first:
                yield moved


@lru_cache(maxsize=1024)
def lists_of(ranking: Ranking) -> tuple[str, ...]:
    """The keys of the lists that hold a ranking's entries: `("berlin-2026#i4q7d20776x2", …)`. A member is in one."""
    if not ranking.window.rolling:
        return (ranking.key,)
    rankings = rolling_of(ranking)
    blocks = blocks_within(ranking.window, ranking.period, ranking.period + 1)
    return tuple(list_key(rankings, block) for block in blocks)


def list_key(rankings: RollingRankings, block: Block) -> str:
    """The key of a block's list: `berlin-2026#i4q7d20776x2`, or for one period that of its ranking."""
    code = rankings.metric.ranking_code(rankings.window)
    return f"{rankings.board}#{code}{block.code}{generation_code(rankings.generation)}"


@cache
def _cover(first: int, until: int, slab: int, longest: int) -> tuple[Block, ...]:
    if first == until:
        return ()
    blocks = [block for block in _blocks_of_slab(slab, longest) if block.first == first and block.until <= until]
    return min(((block, *_cover(block.until, until, slab, longest)) for block in blocks), key=len)


@cache
def _blocks_of_slab(slab: int, longest: int) -> tuple[Block, ...]:
    powers = [Block(first, length) for length in (1, 2, 4, 8, 16) for first in range(0, slab, length)]
    quarters = [
        Block(whole.first + skipped, 3 * whole.length // 4)
        for whole in powers
        if whole.length in {4, 8}
        for skipped in (0, whole.length // 4)
    ]
    return tuple(block for block in powers + quarters if block.length <= longest)


class RollingRow(NamedTuple):
    """A member's row in a rolling window: its steps, and the image's version they came from."""

    version: int
    steps: Steps


def row_of(item: Item) -> RollingRow | str:
    """The row that an item holds, or why it cannot be read."""
    try:
        return RollingRow(int(item["v"]["N"]), decode_steps(item["p"]["S"]))
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return f"the row {item['pk']['S']!r} is damaged ({error!r}): rebuild its board"


def encode_steps(steps: Steps) -> str:
    """Steps as text: the first complete period, then for each step its range, sort values, and instant if it has one.

    A range is given from where the last one ended: `[20770,[6,7,-300]]` is -300 in the periods 20776 to 20782. Several
    sort values are a list: `[20770,[6,7,[-300,312]]]`.
    """
    numbers: list[list[Any]] = []
    last = steps.low
    for first, until, place in steps.steps:
        since = () if place.since is None else (place.since,)
        numbers.append([first - last, until - first, _written(place.values), *since])
        last = until
    return orjson.dumps([steps.low, *numbers]).decode()


def decode_steps(text: str) -> Steps:
    """The steps in a text. Raises ValueError for any other text."""
    if not _STEPS.fullmatch(text):
        raise ValueError(f"expected steps, got {text[:80]!r}")
    low, *ranges = orjson.loads(text)
    steps: list[Step] = []
    last = low
    for gap, length, values, *since in ranges:
        first = last + gap
        last = first + length
        steps.append(Step(first, last, Place(_values(values), *since)))
    return Steps(low, tuple(steps))


def _written(values: SortValues) -> Any:
    """Sort values as they are written: `-300`, or `[-300, 312]`."""
    return values[0] if len(values) == 1 else list(values)


def _values(written: Any) -> SortValues:
    """The sort values that `_written` gave."""
    return tuple(written) if type(written) is list else (written,)


def row_item(shift: Shift, steps: Steps) -> dict[str, Any]:
    """The row that stores `steps` for a shift, as an item: `{"pk": {"S": "berlin-2026#i4q7d#u123"}, "p": …, …}`.

    It stays until none of its steps can be read, and no older change can be replayed.
    """
    readable_until = max((shift.ranking.readable_until(step.until - 1) for step in steps.steps[-1:]), default=0)
    until = max(readable_until + EXPIRY_MARGIN, shift.written_at_ms + ROW_LIFETIME)
    return {**_stored(shift, shift.ranking.key, until), "p": {"S": encode_steps(steps)}}


def _stored(shift: Shift, key: str, until: int) -> dict[str, Any]:
    """What rows and list items have in common. It stays until an instant, or soon after the end of its board."""
    return {
        "pk": {"S": entry_key(key, shift.member)},
        "v": {"N": str(shift.version)},
        "t": {"N": str(shift.written_at_ms)},
        "e": {"N": str(expiry_of(until, shift.ranking.board_ends))},
    }


def list_items(shift: Shift, seen: Steps | None) -> Iterator[dict[str, Any]]:
    """The list items to write for a shift, if a row with these steps was read."""
    rankings, steps = shift.ranking, shift.steps
    window, places = rankings.window, steps.by_block(rankings.window, steps.low)
    blocks: Iterable[Block]
    if shift.rewrite_every_item:
        newest = rankings.metric.timetable.index(rankings.unit, shift.written_at_ms + AHEAD_MARGIN) + window.size
        blocks = blocks_within(window, steps.low, max(newest + 1, *(step.until for step in steps.steps), 0))
    else:
        blocks = blocks_to_write(window, steps.low, seen, shift.passed, steps)
    return (list_item(shift, block, places.get(block)) for block in blocks)


def list_item(shift: Shift, block: Block, place: Place | None) -> dict[str, Any]:
    """The item of a shifted member in a block's list: `{"pk": {"S": "berlin-2026#i4q7d20776x2#u123"}, …}`.

    One without a place keeps its version, so that no older change can bring the place back.
    """
    rankings = shift.ranking
    block_list = list_key(rankings, block)
    stored = _stored(shift, block_list, rankings.readable_until(block.until - 1) + EXPIRY_MARGIN)
    if place is not None:
        stored["r"] = {"S": index_key(block_list, shard_of(shift.member, rankings.metric.shards))}
        stored["s"] = {"S": sort_key(place, shift.member)}
    return stored


def listed_member(rankings: RollingRankings, key: str) -> tuple[Block, str] | None:
    """The block and the member in a list item's key: `(Block(20776, 2), "u123")`. None for the key of another item."""
    window = re.escape(f"{rankings.board}#{rankings.metric.ranking_code(rankings.window)}")
    item_keys = rf"{window}([0-9]+)(?:x([0-9]+))?{generation_code(rankings.generation)}#(.*)"
    named = re.fullmatch(item_keys, key, re.DOTALL)
    return None if named is None else (Block(int(named[1]), int(named[2] or 1)), named[3])


class Log(NamedTuple):
    """A log (a write-ahead log of counts) as it was read: the position of its first entry, and the entries.

    A transaction appends one entry: the changes of all members that it moves. A *fold* (compaction) later adds entries
    to the nodes, and cuts them off the log. Entries have positions, which never come again: the first one that is left
    is at `base`. A node stores for each log the position of the first entry that it lacks (a watermark). So a node and
    the entries from its position on are the count at the end of the log.
    """

    base: int
    entries: "Sequence[LogEntry]" = ()

    @property
    def end(self) -> int:
        """The position behind the last entry."""
        return self.base + len(self.entries)

    def since(self, position: int) -> "Sequence[LogEntry]":
        """The entries from a position on."""
        return self.entries[max(0, position - self.base) :]


class LogEntry(NamedTuple):
    """The changes of one transaction, and when the latest of its changes was written, in milliseconds."""

    written_at_ms: int
    changes: Sequence[CountChange]


NodeDeltas = dict[tuple[int, Path], dict[int, int]]
"""Changes of counters by digit, for each node: its period and path."""


def node_deltas(entries: Iterable[LogEntry], periods: range) -> NodeDeltas:
    """The net change of every counter that some entries change in these periods."""
    by_range: defaultdict[tuple[int, int], list[tuple[SortValues | None, SortValues | None]]] = defaultdict(list)
    for change in (change for entry in entries for change in entry.changes):
        first, until = max(change.first, periods.start), min(change.until, periods.stop)
        if first < until:
            by_range[first, until].append((change.old, change.new))
    parts: defaultdict[tuple[int, Path], list[Counters]] = defaultdict(list)
    for (first, until), moves in by_range.items():
        for path, counters in deltas(moves).items():
            for period in range(first, until):
                parts[period, path].append(counters)
    net = {node: {digit: n for digit, n in summed(each).items() if n} for node, each in parts.items()}
    return {node: counters for node, counters in net.items() if counters}


def log_of(item: Item) -> Log:
    """The log that an item holds; StoreRefusedError if it is damaged."""
    try:
        return Log(int(item["b"]["N"]), tuple(decode_entry(text["S"]) for text in item["l"]["L"]))
    except (LookupError, TypeError, ValueError) as error:
        why = f"the log {item['pk']['S']!r} is damaged ({error!r}): rebuild its board"
        raise StoreRefusedError(why) from error


def log_bytes(item: Item) -> int:
    """The bytes of a log's entries."""
    return int(item["z"]["N"])


def log_count(first: Item) -> int:
    """The number of logs that log 0 names."""
    return int(first["c"]["N"]) if "c" in first else 1


def lates_ever(first: Item) -> set[int]:
    """How long after its end a period could be read, in milliseconds: every value that log 0 names."""
    return {int(late) for late in first["w"]["NS"]} if "w" in first else set()


def encode_entry(entry: LogEntry) -> str:
    """An entry as text, `[1795083300000,20776,7,null,-300]`: the time, then four values for each change.

    The first of these counts from the end of the range before. Several sort values are a list, as in steps.
    """
    numbers: list[Any] = [entry.written_at_ms]
    last = 0
    for first, until, old, new in entry.changes:
        by = new if old is None or new is None else _sum(new, old, -1)
        numbers += (first - last, until - first, old and _written(old), by and _written(by))
        last = until
    return orjson.dumps(numbers).decode()


def _sum(one: SortValues, other: SortValues, sign: int = 1) -> SortValues:
    return tuple(first + sign * second for first, second in zip(one, other, strict=True))


def decode_entry(text: str) -> LogEntry:
    """The entry in a text. Raises ValueError for any other text."""
    if not _ENTRY.fullmatch(text):
        raise ValueError(f"expected an entry of a log, got {text[:80]!r}")
    written_at_ms, *numbers = orjson.loads(text)
    changes: list[CountChange] = []
    last = 0
    for gap, length, *written in zip(*[iter(numbers)] * 4, strict=True):
        first = last + gap
        last = first + length
        old, new = (None if one is None else _values(one) for one in written)
        changes.append(CountChange(first, last, old, new if old is None or new is None else _sum(old, new)))
    return LogEntry(written_at_ms, changes)
