"""A member of a board: its item in Scores, the moves in rankings that follow from it, and what an event changes in it.

An item holds *accumulators*: the total of each metric, and buckets. A member's score in a period is the sum of its
buckets there (or their max, min or last).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from types import MappingProxyType
from typing import Final, NamedTuple

import orjson

from standings.domain import scoring
from standings.domain.boards import MAX_UNITS, Boards, Family, Metric, Ranking, attribute_name, late_name
from standings.domain.scoring import Aggregate, Place, merge, place_of, sort_value
from standings.domain.windows import DAY, HOUR, MAX_READ, MINUTE, NAMES, NO_SEASON, Unit, Window, final_at


def moves(
    boards: Boards, changes: Iterable["Change"], generations: Sequence[int] = (0,), board_ends: int | None = None
) -> list["Move"]:
    """The moves of one member, from its first image to its last, in each generation. `board_ends` is for `Ranking`.

    A place that changed and changed back is a move too: the newest version in its row stops late records from between.
    """
    ordered = sorted(changes, key=lambda change: change.new.version)
    first, last = ordered[0].old, ordered[-1].new
    family = boards.family(last.board)
    if family is None:
        return []
    # An affected ranking may keep its place: a best may not have improved, and a hidden member has no place.
    moved = dict.fromkeys(
        ranking
        for change in ordered
        for ranking in affected_rankings(family, change.old, change.new)
        if place(change.old, ranking) != place(change.new, ranking)
    )
    member, version, at = last.member, last.version, last.written_at_ms
    kept = [(ranking, place(first, ranking), place(last, ranking)) for ranking in moved]
    return [
        Move(ranking._replace(generation=generation, board_ends=board_ends), member, old, new, version, at)
        for generation in generations
        for ranking, old, new in kept
    ]


class Change(NamedTuple):
    """One change of a member's item: the image before (None for a new item) and after."""

    old: "Image | None"
    new: "Image"


@dataclass(slots=True)
class Move:
    """A member's change of place in one ranking (None: no place). If the row differs from `old`, the row is right."""

    ranking: Ranking
    member: str
    old: Place | None
    new: Place | None
    version: int
    written_at_ms: int


def affected_rankings(family: Family, old: "Image | None", new: "Image") -> Iterator[Ranking]:
    """The calendar rankings in which a member's place may differ, some twice; none that `new` is too late for."""
    before, tie_keys, companions = (old.values, old.tie_keys, old.companions) if old is not None else ({}, {}, {})
    has_companions = bool(companions or new.companions)
    # Hiding a member, or showing it again, moves it in every ranking.
    shown_or_hidden = old is not None and old.hidden != new.hidden
    for attribute in before.keys() | new.values.keys():
        moved = shown_or_hidden or before.get(attribute) != new.values.get(attribute)
        if has_companions and not moved:
            moved = companions.get(attribute) != new.companions.get(attribute)
        if not moved and tie_keys.get(attribute) == new.tie_keys.get(attribute):
            continue
        accumulator = family.accumulator(attribute)
        if accumulator is None or accumulator.is_late:
            continue
        # The instant of a tie-break's latest event orders nobody.
        ordered = family.ordered_by(accumulator.metric) if moved else [accumulator.metric]
        for metric in ordered if moved or accumulator.metric.ties_by_instant else ():
            for window in metric.windows:
                if window.unit == accumulator.unit and not window.rolling:
                    ranking = Ranking(new.board, metric, window, accumulator.bucket)
                    until = ranking.kept_until
                    if until is None or new.written_at_ms < until + SKIP_MARGIN:
                        yield ranking


SKIP_MARGIN: Final = HOUR
"""A period is skipped if it could last be read this long before an image was written. It is less than
`REMOVAL_MARGIN`, so that a removed accumulator never looks like a score that fell."""


def readable_rankings(family: Family, image: "Image", now: int) -> Iterator[Ranking]:
    """The calendar rankings that an image has scores in and that are kept at `now` (ms) or later."""
    return affected_rankings(family, None, replace(image, written_at_ms=now))


AHEAD_MARGIN: Final = HOUR  # No event counts in a bucket that begins later than this after any clock's now


def open_rankings(family: Family, board: str, now: int) -> Iterator[Ranking]:
    """Every ranking of a board that is kept at `now` (ms), and every later one in which events count already."""
    for metric in family.metrics.values():
        for window in metric.windows:
            if window.unit is None:
                yield Ranking(board, metric, window, 0)
                continue
            newest_bucket = family.timetable.index(window.unit, now + AHEAD_MARGIN)
            period: int | None = window.periods(newest_bucket)[-1]
            while period is not None and period >= 0:
                ranking = Ranking(board, metric, window, period)
                until = ranking.kept_until
                if until is not None and now >= until + SKIP_MARGIN:
                    break
                yield ranking
                period = family.timetable.offset(window.unit, period, -1)


def calendar_rankings(family: Family, board: str, now: int) -> Iterator[Ranking]:
    """Those of the open rankings that are not of rolling windows."""
    return (ranking for ranking in open_rankings(family, board, now) if not ranking.window.rolling)


def place(image: "Image | None", ranking: Ranking) -> Place | None:
    """A member's place in a ranking; None if it is hidden or gone, has no event in the period, or is not ranked."""
    if image is None or image.hidden:
        return None
    there, metric = place_if_ranked(image, ranking), ranking.metric
    if there is None or metric.ranked_from is None:
        return there
    return there if metric.ranks(sort_value(there.values[0], descending=metric.descending)) else None


def place_if_ranked(image: "Image", ranking: Ranking) -> Place | None:
    """The place that a member would have if it were neither hidden nor had a score that is not ranked."""
    metric, window, period = ranking.metric, ranking.window, ranking.period
    aggregate = aggregate_in_period(image, metric, window, period)
    if aggregate is None or not metric.tie_breaks:
        return None if aggregate is None else place_of(metric, aggregate)
    others = (aggregate_in_period(image, each, window, period) for each in metric.separate_tie_breaks)
    return place_of(metric, aggregate, others)


def aggregate_in_period(image: "Image", metric: Metric, window: Window, period: int) -> Aggregate | None:
    """Merge the buckets of a period, ignoring `hidden`; None if the member has no event in it."""
    if window.unit is None:
        return image.cell(metric.total())
    if not window.rolling:
        return image.cell(metric.bucket(window.unit, period))
    return aggregate_of(image, metric, contributions(image, metric, window), period)


def aggregate_of(image: "Image", metric: Metric, parts: Iterable["Contribution"], period: int) -> Aggregate | None:
    """Merge the accumulators that count in a period; None if there are none."""
    cells = (image.cell(one.name) for one in parts if one.first <= period < one.until)
    found = [cell for cell in cells if cell is not None]
    return reduce(partial(merge, metric), found) if found else None


class Contribution(NamedTuple):
    """An accumulator, and the periods of a rolling window in which it counts: those from `first` to before `until`."""

    first: int
    until: int
    name: str


def contributions(image: "Image", metric: Metric, window: Window) -> Iterator[Contribution]:
    """The accumulators that count in some period of a rolling window."""
    code = metric.bucket_codes[window.unit] if window.unit is not None else ""
    for name in image.values:
        of, _, _, bucket, first = attribute_name(name) or ("", None, False, 0, 0)
        if code and of == code and first < bucket + window.size:
            yield Contribution(first, bucket + window.size, name)


@dataclass(frozen=True, slots=True)
class Image:
    """One state of a member's item, as in a before or after image. The score in every ranking follows from it.

    - `version` grows by one with every write.
    - `written_at_ms` is the writer's clock in milliseconds. It never goes back on an item.
    - `abs_total` is at least the absolute value of any sum of accumulators.
    - `values` holds the accumulators by attribute name, such as `{"h9e": 300}`, `tie_keys` the tie keys of those that
      have one, `notes` their notes as JSON, `companions` their companions.
    - `set_keys` holds, by accumulator, the key of the latest number that was set (`set_key`): of a sum by its total
      alone, of a best also by bucket.
    - `removed` marks a removed member: the item has a version and no scores.
    - `removed_at` is the stamp of the latest removal, in milliseconds; None: there was none. It stays when the member
      comes back: its earlier rankings no longer follow from the item. It is 0 if version 0.3 did not keep the stamp.
    - `merged_at` is the stamp of the latest merge into another member, which is a removal too: what counted before it
      counts for that member. It stays when the member comes back.
    - `expiry` is from when on DynamoDB may delete the item, in seconds: a day after its board has ended. None: never.
    """

    board: str
    member: str
    version: int
    written_at_ms: int
    abs_total: int
    hidden: bool
    values: Mapping[str, int]
    tie_keys: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    set_keys: Mapping[str, str] = field(default_factory=dict)
    companions: Mapping[str, str] = field(default_factory=dict)
    removed: bool = False
    removed_at: int | None = None
    merged_at: int | None = None
    expiry: int | None = None

    @property
    def is_left_over(self) -> bool:
        """Whether DynamoDB has yet to delete it with its ended board: it counts as none, and is overwritten whole."""
        return self.removed and self.removed_at is None

    @property
    def texts(self) -> tuple[Mapping[str, str], ...]:
        """What accumulators have besides numbers: tie keys, notes, set keys, companions."""
        return self.tie_keys, self.notes, self.set_keys, self.companions

    def without_scores(self) -> "Image":
        """The image after the item was deleted: the next version, without scores."""
        empty = replace(self, values={}, tie_keys={}, notes={}, set_keys={}, companions={})
        return replace(empty, version=self.version + 1, abs_total=0, removed=True)

    def cell(self, name: str) -> Aggregate | None:
        """The aggregate in an accumulator, such as `h9e`; None if the item has no such accumulator."""
        value = self.values.get(name)
        if value is None:
            return None
        return Aggregate(value, self.tie_keys.get(name, ""), self.notes.get(name, ""), self.companions.get(name, ""))

    def with_cells(self, cells: Mapping[str, Aggregate]) -> "Image":
        """The image with these aggregates in its accumulators."""
        return replace(
            self,
            values={**self.values, **{name: cell.value for name, cell in cells.items()}},
            tie_keys=_with(self.tie_keys, {name: cell.tie_key for name, cell in cells.items()}),
            notes=_with(self.notes, {name: cell.note for name, cell in cells.items()}),
            companions=_with(self.companions, {name: cell.companions for name, cell in cells.items()}),
        )


def _with(texts: Mapping[str, str], replaced: Mapping[str, str]) -> Mapping[str, str]:
    """Texts by accumulator, with some of them replaced; an empty text is removed."""
    return {of: text for of, text in {**texts, **replaced}.items() if text}


def new_image(board: str, member: str, written_at_ms: int) -> Image:
    """A new item. Its version starts at the clock, so it is above any earlier item of the same key."""
    return Image(board, member, written_at_ms, written_at_ms, 0, hidden=False, values={})


def registered(family: Family, image: Image) -> Image:
    """The image of a registered member. On a board of registered members, every sum starts at 0."""
    sums = [metric.total() for metric in family.metrics.values() if metric.aggregate == "sum"]
    zeros = dict.fromkeys(sums if family.members == "registered" else [], 0)
    return replace(image, values={**zeros, **image.values}, removed=False)


def removed(image: Image, now: int) -> Image:
    """The image of a member removed at `now` (ms): the next version, without scores, stamped later than it was."""
    stamp = max(now, image.written_at_ms + 1)
    gone = rewritten(image, stamp, image.values)
    return replace(gone, hidden=False, removed=True, removed_at=stamp, expiry=None)


def merged(family: Family, old: Image, new: Image, now: int) -> tuple[Image, Image, list[str]]:
    """The images of a member that is merged into another one at `now` (ms), and of that one, with what changed in it.

    Numbers are merged by their metric's aggregate, period by period, as if all events had been the other one's. Of an
    unknown metric the other one's number stays as it is. The stamp of both is later than any that the first one had.
    """
    stamp = max(now, old.written_at_ms + 1, new.written_at_ms)
    after, cells = registered(family, new), dict[str, Aggregate]()
    for name in old.values:
        accumulator, cell, there = family.accumulator(name), old.cell(name), after.cell(name)
        if cell is not None and (there is None or accumulator is not None):
            cells[name] = cell if accumulator is None else merge(accumulator.metric, there, cell)
    whole, gone = late_merged(family, after.with_cells(cells), stamp)
    whole = rewritten(whole, stamp, [*gone, *expired(family, whole, stamp)])
    changed = [name for name, value in whole.values.items() if value != new.values.get(name)]
    left = replace(removed(old, stamp), merged_at=stamp)
    return left, replace(whole, hidden=old.hidden or new.hidden), changed


def rewritten(image: Image, written_at_ms: int, gone: Iterable[str] = ()) -> Image:
    """The image's next version, without the accumulators that are `gone`."""
    dropped = frozenset(gone)
    values = {name: value for name, value in image.values.items() if name not in dropped}
    return replace(
        image,
        version=image.version + 1,
        written_at_ms=written_at_ms,
        abs_total=sum(map(abs, values.values())),
        values=values,
        tie_keys={name: tie_key for name, tie_key in image.tie_keys.items() if name in values},
        notes={name: note for name, note in image.notes.items() if name in values},
        set_keys={name: set_key for name, set_key in image.set_keys.items() if name in values},
        companions={name: companions for name, companions in image.companions.items() if name in values},
        removed=False,
    )


SENT_AFTER: Final = MINUTE
"""An event counts again only if it was sent so long after the removal: longer than clocks differ. So no message that
was on its way brings a removed member back."""


def may_count_again(counted_at: int, sent: int | None) -> bool:
    """Whether an event that counted at `counted_at` was sent late enough to count again after a removal (ms)."""
    return sent is not None and sent > counted_at + SENT_AFTER


def counts_again(images: Iterable["Image | None"], counted_at: int, sent: int | None) -> bool:
    """Whether an event that counted at `counted_at`, and was sent again at `sent`, counts again (milliseconds).

    It does if each of its members (`images`, as they are) was removed after it counted, and before it was sent. If one
    was merged into another member after it counted, it counts there: it never counts again.
    """
    return sent is not None and all(
        image is not None
        and image.removed_at is not None
        and counted_at < image.removed_at < sent - SENT_AFTER
        and (image.merged_at is None or counted_at >= image.merged_at)
        for image in images
    )


class EventPart(NamedTuple):
    """What an event adds to an item: units (with `sets`: totals or bests) and notes by metric, `at` in milliseconds."""

    event_id: str
    at: int
    amounts: Mapping[str, int]
    notes: Mapping[str, str] = MappingProxyType({})
    sets: bool = False
    history: "History | None" = None


class History(NamedTuple):
    """The codes of a board's settled rankings, `q8Qd20778`, in which no history counts; None: nobody has noted them."""

    settled: frozenset[str] | None


def set_key(part: EventPart) -> str:
    """The key of a number that an event sets, `VP6xaXHVrun-0197f2c4`: its `at`, then its id. The greatest one stays."""
    return scoring.encode_sortable(part.at) + part.event_id


def set_bests(family: Family, image: Image, event: EventPart, now: int) -> tuple[Image, list[str], bool]:
    """Replace bests by those that an event sets at `now` (ms), unless a later one was set there.

    Returns the new image, the accumulators that changed, and whether a later best stays in `all`. What came late for a
    bucket is replaced with it, so no rolling period keeps it. Sums that the event sets are left out.
    """
    key, changed, is_superseded = set_key(event), list[str](), False
    bests = {name: units for name, units in event.amounts.items() if family.metrics[name].is_best}
    for metric, name in _accumulators(family, event._replace(amounts=bests), now):
        if key < image.set_keys.get(name, ""):
            is_superseded = is_superseded or name == metric.total()
            continue
        best = _aggregate_in(event, metric)
        names = [name, *(each for each in image.values if _is_late_for(name, each))]
        image = replace(image.with_cells(dict.fromkeys(names, best)), set_keys={**image.set_keys, name: key})
        changed += names
    return image, changed, is_superseded


def _is_late_for(bucket: str, name: str) -> bool:
    """Whether an accumulator has the late events of a bucket: `lb1bd20770` or `lb1bd20770f20778` of `b1bd20770`."""
    late = late_name(bucket)
    return name == late or name.startswith(f"{late}f")


def apply_event(family: Family, image: Image, event: EventPart, now: int) -> tuple[Image, list[str]]:
    """Count one event at `now` (ms): the new image, and the accumulators that changed: `["h9e", "b1bd20778"]`."""
    changed = []
    for metric, name in _accumulators(family, event, now):
        before = image.cell(name)
        after = merge(metric, before, _aggregate_in(event, metric))
        if after != before:
            changed.append(name)
            image = image.with_cells({name: after})
    return image, changed


def _aggregate_in(event: EventPart, metric: Metric) -> Aggregate:
    note, companions = event.notes.get(metric.name, ""), scoring.companions_of(metric, event.amounts)
    return scoring.aggregate_of_event(metric, event.amounts[metric.name], event.at, event.event_id, note, companions)


def additions(counted: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """What events add to an item's attributes together, of what each adds (`counted_in`): `{"h9e": 300}`."""
    adds: dict[str, int] = {}
    for each in counted:
        for name, units in each.items():
            adds[name] = adds.get(name, 0) + units
    return adds


def counted_in(family: Family, event: EventPart, now: int) -> dict[str, int]:
    """The accumulators in which an event counts at `now` (ms), with what it adds to each: `{"h9e": 300}`, also 0."""
    return {name: event.amounts[metric.name] for metric, name in _accumulators(family, event, now)}


MAX_RECEIPT_BYTES: Final = 1_024  # The most bytes of a receipt: it costs one write unit, as one without content does
_OTHERS: Final = 100  # Bytes of a receipt's other attributes, at most, without the ids
TOO_LARGE: Final = "large"
SETS_TOTALS: Final = "sets"
HAS_BESTS: Final = "best"
Counted = Mapping[tuple[str, str], Mapping[str, int]]
"""By board and member, what an event added to each accumulator: `{("berlin-2026", "u123"): {"h9e": 300}}`."""


class Content(NamedTuple):
    """What an event counted: its `at` (ms), that in its digest or None, amounts by accumulator; none if taken back."""

    at: int
    digest_at: int | None
    counted: Counted


def encode_content(ids: str, content: Content) -> str:
    """A content in a receipt with these ids: `[1795256100000,{"b":{"u7":{"h9e,U99d20778":300}}}]`; or TOO_LARGE."""
    boards: dict[str, dict[str, dict[str, int]]] = {}
    for (board, member), added in content.counted.items():
        names: dict[int, str] = {}
        for name, units in added.items():
            names[units] = f"{names[units]},{name}" if units in names else name
        boards.setdefault(board, {})[member] = {of: units for units, of in names.items()}
    parts = [content.at, boards] if content.digest_at == content.at else [content.at, boards, content.digest_at]
    text = orjson.dumps(parts)
    return text.decode() if len(text) + len(ids.encode()) + _OTHERS <= MAX_RECEIPT_BYTES else TOO_LARGE


def _accumulators(family: Family, event: EventPart, now: int) -> Iterator[tuple[Metric, str]]:
    """The accumulators in which an event counts: each metric's total, and a bucket for each unit that accepts it."""
    for metric_name in event.amounts:
        metric = family.metrics[metric_name]
        if metric.kept_with is not None:
            continue
        yield metric, metric.total()
        for unit in metric.bucket_codes:
            index = family.timetable.bucket_for(unit, event.at, now)
            name = None if index is None else metric.bucket(unit, index)
            if index is None and event.history is not None:
                name = _past_bucket(family, metric, unit, event, now)
            elif index is None and not event.sets:
                name = metric.late_bucket(unit, event.at, now)
            if name is not None:
                yield metric, name


def _past_bucket(family: Family, metric: Metric, unit: Unit, event: EventPart, now: int) -> str | None:
    """The accumulator of a bucket that has closed, for an event of history; None if no period of it can be read.

    If a calendar period is settled, the event counts in all rolling periods that contain the bucket, and not in that. A
    best that is set replaces the bucket itself, so it needs one that no settled period has.
    """
    timetable = metric.timetable
    if now - event.at > MAX_READ:
        return None  # `at` may be in a year for which Python has no calendar.
    index = timetable.index(unit, event.at)
    if unit == "s" and (index == NO_SEASON or event.at >= timetable.end(unit, index)):
        return None  # It is in a gap between seasons.
    windows = [window for window in metric.kept_windows if window.unit == unit]
    rolls = any(now < timetable.rolling_until(unit, window.periods(index)[-1]) for window in windows if window.rolling)
    is_read = any(now < (timetable.readable_until(one, index) or 0) for one in windows if not one.rolling)
    if is_read and not _is_settled(family, metric, unit, index, event.history, now):
        return metric.bucket(unit, index)
    if event.sets:
        return metric.bucket(unit, index) if rolls and not is_read else None
    return late_name(metric.bucket(unit, index)) if rolls else None


def is_settled(family: Family, name: str, history: History | None, now: int) -> bool:
    """Whether an accumulator counts in a ranking that is settled. UnknownSettlementError if nobody knows."""
    accumulator = family.accumulator(name)
    if accumulator is None or accumulator.unit is None or accumulator.is_late:
        return False
    return _is_settled(family, accumulator.metric, accumulator.unit, accumulator.bucket, history, now)


def _is_settled(family: Family, metric: Metric, unit: Unit, index: int, history: History | None, now: int) -> bool:
    """Whether a bucket of a metric counts in a ranking that is settled: its own, or one whose ties it breaks."""
    settled = None if history is None else history.settled
    for each in family.ordered_by(metric):
        for window in each.windows:
            if window.unit != unit or window.rolling:
                continue
            if settled is not None and f"{each.ranking_code(window)}{index}" in settled:
                return True
            final = final_at(each.timetable, window, index)
            if settled is None and window.name in family.endings.settle and final is not None and now >= final:
                raise UnknownSettlementError
    return False


class UnknownSettlementError(Exception):
    """An event would count in a period that version 0.3 may have settled, and nobody has looked yet whether it did."""

    def __init__(self) -> None:
        super().__init__(
            "nobody has noted yet which periods of its board are settled: "
            "note it with `standings results BOARD`, then replay the event"
        )


def settled_code(ranking: Ranking) -> str:
    """The code by which a board's record says that a ranking is settled: `q8Qd20778`."""
    return f"{ranking.metric.ranking_code(ranking.window)}{ranking.period}"


def is_kept(family: Family, code: str, now: int) -> bool:
    """Whether a settled ranking can still be read at `now` (ms), or this definition does not know it."""
    for metric in family.metrics.values():
        for window in metric.windows:
            prefix = metric.ranking_code(window)
            if window.unit is not None and code.startswith(prefix) and (digits := code[len(prefix) :]).isdecimal():
                if window.unit == "s" and int(digits) not in metric.timetable.seasons:
                    return True
                until = metric.timetable.kept_until(window, int(digits))
                return until is None or now < until + REMOVAL_MARGIN
    return True


REMOVAL_MARGIN: Final = DAY  # From the end of an accumulator's reading to its removal: longer than clocks are wrong


def expired(family: Family, image: Image, now: int) -> list[str]:
    """The accumulators of an item whose last period could be read until `REMOVAL_MARGIN` before `now` (ms)."""
    return [attribute for attribute in image.values if family.has_expired(attribute, now - REMOVAL_MARGIN)]


def late_merged(family: Family, image: Image, now: int, most: int | None = None) -> tuple[Image, list[str]]:
    """Merge late buckets that no longer need to name their first period: the new image, and the names that are gone.

    That is so an hour after the last earlier period could be read (`now` is in ms). Each is added to the one without a
    first period, so an item has at most three late buckets for each bucket. With `most`, only so many are merged.
    """
    gone: list[str] = []
    for name in image.values:
        if len(gone) == most:
            break
        accumulator, cell = family.accumulator(name), image.cell(name)
        if accumulator is None or accumulator.unit is None or cell is None or not accumulator.names_first:
            continue
        metric, unit = accumulator.metric, accumulator.unit
        if now >= metric.timetable.rolling_until(unit, accumulator.first - 1) + SKIP_MARGIN:
            whole = late_name(metric.bucket(unit, accumulator.bucket))
            image = image.with_cells({whole: merge(metric, image.cell(whole), cell)})
            gone.append(name)
    return image, gone


def beyond_bounds(family: Family, image: Image, changed: Iterable[str]) -> str | None:
    """Where a changed attribute takes a score beyond ±(2^53 - 1) units: `points in last-7-days`, or None."""
    for attribute in changed:
        accumulator = family.accumulator(attribute)
        if accumulator is None:
            continue
        metric, unit, _, bucket, first = accumulator
        if abs(image.values[attribute]) > MAX_UNITS:
            return f"{metric.name} in {'all' if unit is None else 'one ' + NAMES[unit]}"
        for window in metric.kept_windows:
            if not window.rolling or window.unit != unit:
                continue
            parts = list(contributions(image, metric, window))
            for period in range(first, bucket + window.size):
                aggregate = aggregate_of(image, metric, parts, period)
                if aggregate is not None and abs(aggregate.value) > MAX_UNITS:
                    return f"{metric.name} in {window.name}"
    return None
