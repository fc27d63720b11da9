"""Boards as `boards.toml` defines them: families, metrics, windows, rankings, and the names of all of them.

A member's numbers have short codes as names, because names count in an item's size. A code is made from everything that
gives a number its meaning. So after a change of aggregate, precision or time zone, old numbers never mix with new ones.
"""

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Final, Literal, NamedTuple, cast

from standings.domain.errors import NotFoundError, bad_argument
from standings.domain.windows import DAY, MAX_ROLLING_BUCKETS, Timetable, Unit, Window, is_past_reading

AggregateFunction = Literal["sum", "max", "min", "last"]
Order = Literal["descending", "ascending"]
Ties = Literal["member", "first"]
Members = Literal["open", "registered"]
PrizeMethod = Literal["competition", "ordinal"]
MAX_UNITS: Final = 2**53 - 1  # The largest absolute score, in the metric's units: JSON and Redis hold it exactly


class Boards:
    """All families of a `boards.toml`, and the family of each board."""

    def __init__(self, families: tuple["Family", ...]) -> None:
        self.families = families
        # The longest pattern wins, then the first in the file: sorted() keeps the file's order among equals.
        self._by_length = sorted(families, key=lambda family: -len(family.pattern))
        self.family = lru_cache(maxsize=65536)(self._family)

    def _family(self, board: str) -> "Family | None":
        """The family of a board; None if no pattern matches its name."""
        return next((f for f in self._by_length if fnmatchcase(board, f.pattern)), None)


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """All boards whose names match one pattern, such as `berlin-*`.

    `endings` says what happens to its periods when they are final, `announce` how long the top is in each window whose
    top is announced. A board ends `expires` milliseconds after it began; None: never. ValueError for two equal codes.
    """

    pattern: str
    timetable: Timetable
    metrics: Mapping[str, "Metric"]
    members: Members
    shards: int
    endings: "Endings"
    announce: Mapping[str, int]
    expires: int | None = None
    _codes: dict[str, "Metric"] = field(init=False, repr=False, default_factory=dict)
    _ordered_by: dict[str, list["Metric"]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        rankings: set[str] = set()
        for metric in self.counted_metrics:
            codes = dict.fromkeys((metric.total(), *metric.bucket_codes.values()), metric)
            ranked = {metric.ranking_code(window) for window in metric.windows}
            if self._codes.keys() & codes or rankings & ranked:
                raise ValueError(f"the short code of {metric.name!r} is another metric's: rename {metric.name!r}")
            self._codes.update(codes)
            rankings |= ranked
            for each in (metric, *metric.separate_tie_breaks):
                self._ordered_by.setdefault(each.name, []).append(metric)

    def accumulator(self, attribute: str) -> "Accumulator | None":
        """What an attribute of an item adds up; None if this definition does not know it."""
        if (name := attribute_name(attribute)) is None:
            return None
        code, unit, is_late, bucket, first = name
        if code not in self._codes or (unit == "s" and bucket not in self.timetable.seasons):
            return None
        return Accumulator(self._codes[code], unit, is_late, bucket, first)

    @property
    def counted_metrics(self) -> Iterable["Metric"]:
        """The metrics that have numbers of their own: all but companions."""
        return (metric for metric in self.metrics.values() if metric.kept_with is None)

    def ordered_by(self, metric: "Metric") -> Sequence["Metric"]:
        """The metrics in whose rankings a metric's numbers decide places: itself, and those that it breaks ties of."""
        return self._ordered_by[metric.name]

    def has_expired(self, attribute: str, now: int) -> bool:
        """Whether an attribute is a bucket that no readable period contains any more.

        Functions with another definition may run too. So a bucket that this definition does not know has expired once
        no possible definition reads it. An unknown total never expires: its metric may come back.
        """
        accumulator = self.accumulator(attribute)
        if accumulator is not None:
            metric, unit, _, bucket, _ = accumulator
            return unit is not None and now >= metric.expires(unit, bucket)
        _, unit, _, bucket, _ = attribute_name(attribute) or ("", None, False, 0, 0)
        return unit is not None and is_past_reading(unit, bucket, now)

    @property
    def reads_items(self) -> bool:
        """Whether items are read before events change them: they hold more than totals, or a metric does not add up."""
        return any(metric.bucket_codes or not metric.adds_up for metric in self.metrics.values())

    def rankings(self) -> frozenset[str]:
        """The codes of all windows that are ranked on a board of this family, such as `q8Qd`."""
        return frozenset(metric.ranking_code(window) for metric in self.metrics.values() for window in metric.windows)


@dataclass(frozen=True, eq=False)
class Metric:
    """A named number of a member: how events add up in it, and the windows in which it is ranked.

    - `precision` is the number of decimals: a score is an integer in units of 10 to the power of -precision.
    - `ties` orders equals: by member id, or the first to reach the score is ahead.
    - `shards` is the number of parts that the sorted index of a ranking is spread over (write sharding).
    - `least` and `most` bound each amount of an event, inclusive, in units; None for no bound.
    - `notes`: a score keeps the note of the event that it came with.
    - `ranked_from`: scores behind it, by `order`, are counted and not ranked, in units; None: all are ranked.
    - `tie_breaks` order members with equal scores, each in its own `order`.
    - `named_in` are the windows of the metrics that this one is a tie-break of. It keeps its buckets for them too.
    - `kept_with` is the metric of which this one is a *companion*: its number is that of the event that gave the other
      its best. It has no numbers of its own, so neither accumulators nor rankings, and that metric's aggregate.
    - `unit` says how people see its numbers: `time` for seconds, else what stands beside them, such as `km`.
    """

    name: str
    aggregate: AggregateFunction
    precision: int
    order: Order
    ties: Ties
    windows: tuple[Window, ...]
    timetable: Timetable
    shards: int = 1
    least: int | None = None
    most: int | None = None
    notes: bool = False
    ranked_from: int | None = None
    tie_breaks: tuple["Metric", ...] = ()
    named_in: tuple[Window, ...] = ()
    kept_with: str | None = None
    unit: str | None = None

    @cached_property
    def companions_code(self) -> str:
        """What the texts of companions begin with, such as `b7x`: another one if a tie-break means another thing."""
        return self._code_of("with", None, *self._tie_break_texts)

    @property
    def _tie_break_texts(self) -> list[str]:
        return [f"{each.name} {each.aggregate} {each.precision} {each.order}" for each in self.tie_breaks]

    @cached_property
    def has_companions(self) -> bool:
        """Whether the tie-breaks are kept with the number that they belong to."""
        return bool(self.tie_breaks) and self.aggregate != "sum"

    @cached_property
    def separate_tie_breaks(self) -> tuple["Metric", ...]:
        """The tie-breaks that have numbers of their own; none if they are companions."""
        return () if self.has_companions else self.tie_breaks

    @cached_property
    def kept_windows(self) -> tuple[Window, ...]:
        """The windows for which buckets are kept: those in which the metric is ranked, or breaks ties."""
        return tuple(dict.fromkeys((*self.windows, *self.named_in)))

    def _code_of(self, kind: str, unit: Unit | None, *more: str) -> str:
        """The code for a kind of the metric's numbers in buckets of a unit (None: totals)."""
        zone = () if unit is None else (unit, self.timetable.timezone)
        week_start = (self.timetable.week_start,) if unit == "w" else ()
        return _code(kind, self.name, self.aggregate, self.precision, *more, *zone, *week_start)

    @cached_property
    def _total_code(self) -> str:
        return self._code_of("total", None)

    @cached_property
    def bucket_codes(self) -> Mapping[Unit, str]:
        """The prefix of bucket attributes for each unit that some window needs: a code and the unit, such as `U99d`."""
        return {unit: self._code_of("bucket", unit) + unit for window in self.kept_windows if (unit := window.unit)}

    @cached_property
    def ranking_codes(self) -> Mapping[str, str]:
        """The codes that rankings begin with, by window: `{"all": "G0Pa", "day": "q8Qd", "last-7-days": "i4q7d"}`.

        A rolling window's code is made differently, as its rankings are stored. `G0P.a` has a `.` for each tie-break.
        """
        kinds = ((window, "blocks" if window.rolling else "ranking") for window in self.windows)
        ties = self._tie_break_texts
        made_by = [*ties, *([] if self.ranked_from is None else [f"from {self.ranked_from}"])]
        return {
            one.name: self._code_of(kind, one.unit, self.order, self.ties, *made_by) + _MORE * len(ties) + one.code
            for one, kind in kinds
        }

    def ranking_code(self, window: Window) -> str:
        """The code that all rankings of a window begin with, such as `q8Qd` for `day`."""
        return self.ranking_codes[window.name]

    @cached_property
    def descending(self) -> bool:
        """Whether the highest score leads."""
        return self.order == "descending"

    @cached_property
    def ties_by_instant(self) -> bool:
        """Whether equals are ordered by when they reached their score."""
        return self.ties == "first" and bool(self.windows)

    @property
    def has_tie_keys(self) -> bool:
        """Whether each accumulator keeps the tie key of an event."""
        return self.aggregate == "last" or self.ties_by_instant or self.notes

    @property
    def components(self) -> int:
        """How many sort values a place in the metric's rankings has: that of the score, and one for each tie-break."""
        return 1 + len(self.tie_breaks)

    @property
    def is_best(self) -> bool:
        """Whether the number is the best of several events, which may be set."""
        return self.aggregate in ("max", "min")

    @property
    def adds_up(self) -> bool:
        """Whether an event can be counted without reading what was counted before."""
        return self.aggregate == "sum" and not self.ties_by_instant

    def ranks(self, units: int) -> bool:
        """Whether members with this score are ranked."""
        if self.ranked_from is None:
            return True
        return units >= self.ranked_from if self.descending else units <= self.ranked_from

    def is_beyond_limits(self, units: int) -> bool:
        """Whether an amount, or a change by a total that is set, is outside `least` and `most`."""
        return (self.least is not None and units < self.least) or (self.most is not None and units > self.most)

    def window(self, name: str) -> Window | None:
        """The window of that name; None if this metric is not ranked in it."""
        return next((window for window in self.windows if window.name == name), None)

    def total(self) -> str:
        """The name of the attribute that holds the total, such as `h9e`."""
        return self._total_code

    def bucket(self, unit: Unit, index: int) -> str:
        """The name of the attribute that holds one bucket, such as `U99d20778`."""
        return f"{self.bucket_codes[unit]}{index}"

    def late_bucket(self, unit: Unit, at: int, now: int) -> str | None:
        """The attribute in which an event counts although its bucket has closed; None if no rolling window takes it.

        The event counts in the rolling periods that contain the bucket and are still open. If a closed one can still be
        read, the name says which is the first open one, as in `lb1bd20770f20778`.
        """
        timetable = self.timetable
        late = timetable.late_for(unit)
        sizes = [window.size for window in self.kept_windows if window.rolling and window.unit == unit]
        if not sizes or now - at > (MAX_ROLLING_BUCKETS + 2) * DAY + late:
            return None  # `at` may be in a year for which Python has no calendar.
        bucket, first = timetable.index(unit, at), timetable.index(unit, now - late)
        if first >= bucket + max(sizes):
            return None
        is_read = now < timetable.rolling_until(unit, first - 1)
        return late_name(self.bucket(unit, bucket)) + (f"f{first}" if is_read else "")

    def expires(self, unit: Unit, index: int) -> int:
        """The instant (ms) from which no period that contains a bucket is kept, nor any of its slab can be read."""
        last = {window: window.periods(index)[-1] for window in self.kept_windows if window.unit == unit}
        kept = ((window, window.slab_of(period)[-1] if window.rolling else period) for window, period in last.items())
        return max(self.timetable.kept_until(window, period) or 0 for window, period in kept)


_COLUMNS: Final = frozenset({"rank", "member", "score", "period", "total", "of"})  # Those beside the tie-breaks


def column_of(tie_break: str) -> str:
    """The column of a tie-break in a list: the metric's name, or `tie_breaks.score` if it is that of another column."""
    return f"tie_breaks.{tie_break}" if tie_break in _COLUMNS else tie_break


class Ranking(NamedTuple):
    """One ordered list of a board: a metric, a window, and the index of one of its periods (0 for `all`).

    A rebuild writes new rankings of a board next to the old ones. Each such copy is a *generation*; the first is 0.
    `board_ends` is when its board ends, in milliseconds. Only those who write a ranking have to know.
    """

    board: str
    metric: Metric
    window: Window
    period: int
    generation: int = 0
    board_ends: int | None = None

    @property
    def key(self) -> str:
        """The ranking in keys, `berlin-2026#q8Qd20778`; it contains exactly one `#` and no `/`."""
        period = "" if self.window.unit is None else self.period
        code = self.metric.ranking_codes[self.window.name]
        return f"{self.board}#{code}{period}{generation_code(self.generation)}"

    @property
    def ranking_code(self) -> str:
        """The part of the key after the board: `q8Qd20778`."""
        return self.key.partition("#")[2]

    @property
    def readable_until(self) -> int | None:
        """The instant (ms) from which the ranking can no longer be read; None for `all`."""
        return self.metric.timetable.readable_until(self.window, self.period)

    @property
    def kept_until(self) -> int | None:
        """The instant (ms) from which the ranking is no longer written, and may be gone; None for `all`."""
        return self.metric.timetable.kept_until(self.window, self.period)


def generation_code(generation: int) -> str:
    """The end of the code of every ranking of a generation, such as `~2`; empty for the first."""
    return f"~{generation}" if generation else ""


CODE_LENGTH: Final = 3
_MORE: Final = "."


def window_code(code: str) -> tuple[str, int]:
    """The window in a code that rankings begin with, and the components of their places: `("a", 2)` in `G0P.a`."""
    window = code[CODE_LENGTH:].lstrip(_MORE)
    return window, len(code) - CODE_LENGTH - len(window) + 1


_ALNUM: Final = string.ascii_letters + string.digits


def _code(*meaning: object) -> str:
    """Three characters for a meaning, such as `h9e`: letter, digit, either. DynamoDB reserves no such word.

    The second one is a digit, so no code begins with the `l` of late events.
    """
    number = int.from_bytes(blake2b(repr(meaning).encode(), digest_size=8).digest(), "big")
    number, first = divmod(number, len(string.ascii_letters))
    number, second = divmod(number, 10)
    return f"{string.ascii_letters[first]}{second}{_ALNUM[number % len(_ALNUM)]}"


class Accumulator(NamedTuple):
    """What an attribute of a member's item adds up: a metric in one bucket, or its total (unit None).

    Late events (`is_late`) count in periods of rolling windows alone, from the period `first` on.
    """

    metric: Metric
    unit: Unit | None
    is_late: bool
    bucket: int
    first: int

    @property
    def names_first(self) -> bool:
        """Whether it counts only from the period `first` on, not in every period that contains the bucket."""
        return self.first != self.bucket


_NAME: Final = re.compile(r"(l(?=[a-zA-Z]))?([a-zA-Z][0-9][a-zA-Z0-9])(?:([hdwmys])([0-9]{1,13})(?:f([0-9]{1,13}))?)?")


@lru_cache(maxsize=65536)  # The items of a board have the same names
def attribute_name(name: str) -> tuple[str, Unit | None, bool, int, int] | None:
    """The parts of a name: `b1b` (a total), `b1bd20770`, `lb1bd20770` or `lb1bd20770f20778`; None for any other.

    They are the code, and what `Accumulator` has: `("b1bd", "d", True, 20770, 20778)`. The bucket of a total is 0.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    late, code, unit, bucket, first = found.groups("")
    return code + unit, cast("Unit", unit) or None, bool(late), int(bucket or 0), int(first or bucket or 0)


def is_total(name: str) -> bool:
    """Whether an attribute is the total of a metric, which this definition may not know: `h9e`."""
    found = attribute_name(name)
    return found is not None and found[1] is None


def late_name(bucket: str) -> str:
    """The attribute for late events of a bucket: `lb1bd20770` for `b1bd20770`."""
    return f"l{bucket}"


SETTLED_WINDOWS: Final = ("day", "week", "month", "year", "season")
MAX_ANNOUNCED: Final = 10_000  # The most winners of one prize that get an event. Further winners are only in the files


class Endings(NamedTuple):
    """The windows that are settled, in the order of the file, and the prizes of each window."""

    settle: tuple[str, ...]
    prizes: Mapping[str, tuple["Prize", ...]]

    def prizes_of(self, window: str, metric: str) -> tuple["Prize", ...]:
        """The prizes of a metric in a window, such as `week`."""
        return tuple(prize for prize in self.prizes.get(window, ()) if prize.metric == metric)


class Prize(NamedTuple):
    """A prize of a metric in each period of a window.

    The ranks from `first` to `last` win, or with `percent` those up to that share of all members, rounded up. By
    `competition` equals share a rank, and all of them win. By `ordinal` a rank is a position of the list.
    """

    name: str
    metric: str
    first: int
    last: int
    percent: int | None = None
    method: PrizeMethod = "competition"

    def last_rank(self, total: int) -> int:
        """The last rank that wins among so many members: 13 for 5 % of 241."""
        return self.last if self.percent is None else -(-total * self.percent // 100)


BOARD_NAME: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
BOARD_NAME_RULE: Final = "1 to 128 of A-Z a-z 0-9 . _ : -, not . or .."
MAX_MEMBER_BYTES: Final = 256  # In UTF-8


def family_of(boards: Boards, board: str) -> Family:
    """The family of a board; NotFoundError for a name that no board can have, or that no family matches."""
    if not is_board_name(board):
        detail = f"expected a board name of {BOARD_NAME_RULE}, got {board[:80]!r}"
        raise NotFoundError("no-such-board", "No such board", detail)
    family = boards.family(board)
    if family is None:
        raise NotFoundError("no-such-board", "No such board", f"no family in boards.toml matches {board!r}")
    return family


def is_board_name(name: str) -> bool:
    """Whether a board can have this name, such as `berlin-2026`. `.` and `..` mean something else in a path."""
    return BOARD_NAME.fullmatch(name) is not None and name not in (".", "..")


def check_member(argument: str, member: str) -> None:
    """Raise InvalidArgumentError for a text that cannot be a member's id."""
    size = size_of(argument, member)
    if not 1 <= size <= MAX_MEMBER_BYTES:
        raise bad_argument(argument, f"expected 1 to {MAX_MEMBER_BYTES} bytes of UTF-8, got {size}")


def size_of(name: str, text: str) -> int:
    """The bytes of an argument's text in UTF-8. InvalidArgumentError for half of a surrogate pair, which has none."""
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        raise bad_argument(name, f"expected text that UTF-8 can hold, got {half} at position {error.start}") from error
