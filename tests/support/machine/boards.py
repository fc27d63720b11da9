"""The boards of the state machine, and the events that it makes up for them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import orjson
from hypothesis import strategies as st

from standings.domain.zones import time_zone
from tests.support.oracle.model import BoardModel, Calendar, Metric, Season

BERLIN: Final = time_zone("Europe/Berlin")
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True)
class Board:
    """A board with a family of its own, as a model and as text for `boards.toml`."""

    metrics: Mapping[str, Metric]
    calendar: Calendar = field(default_factory=Calendar)
    registered: bool = False
    expires: timedelta | None = None
    """How long after its beginning it ends; None: never."""
    settle: tuple[str, ...] = ()

    def model(self) -> BoardModel:
        return BoardModel(self.metrics, self.calendar, self.registered)

    def toml(self, name: str, shards: int) -> str:
        lines = [
            f'[boards."{name}"]',
            f'timezone = "{self.calendar.zone}"',
            f'week_start = "{WEEKDAYS[self.calendar.week_start]}"',
            f'late = "{self.calendar.late // timedelta(minutes=1)} minutes"',
            f'keep = "{self.calendar.keep // timedelta(minutes=1)} minutes"',
            f"shards = {shards}",
            f"seasons = [{', '.join(map(_season, self.calendar.seasons))}]",
        ]
        if self.registered:
            lines.append('members = "registered"')
        if self.expires is not None:
            lines.append(f'expires = "{self.expires // timedelta(minutes=1)} minutes"')
        if self.settle:
            lines.append(f"settle = {orjson.dumps(self.settle).decode()}")
        for metric, rules in self.metrics.items():
            windows = ", ".join(f'"{window}"' for window in rules.windows)
            order = "descending" if rules.descending else "ascending"
            if rules.kept_with is not None:
                what = f'with = "{rules.kept_with}", precision = {rules.precision}, order = "{order}"'
                lines.append(f"metrics.{metric} = {{ {what} }}")
                continue
            lines.append(
                f'metrics.{metric} = {{ aggregate = "{rules.aggregate}", precision = {rules.precision}, '
                f'order = "{order}", ties = "{rules.ties}", notes = {str(rules.notes).lower()}, '
                f"tie_breaks = {orjson.dumps(rules.tie_breaks).decode()}, "
                f"windows = [{windows}]{_limit('least', rules, rules.least)}{_limit('most', rules, rules.most)}"
                f"{_limit('ranked_from', rules, rules.ranked_from)} }}"
            )
        return "\n".join(lines) + "\n"


def _limit(name: str, rules: Metric, units: int | None) -> str:
    return "" if units is None else f", {name} = {Decimal(units).scaleb(-rules.precision):f}"


def _season(season: Season) -> str:
    return f'{{ name = "{season.name}", starts = "{season.starts}", ends = "{season.ends}" }}'


SEASONS: Final = (
    Season("kick-off", date(2026, 10, 25), date(2026, 10, 27)),  # the clocks go back in it
    Season("autumn", date(2026, 11, 1), date(2026, 12, 31)),
    Season("winter", date(2026, 12, 31), date(2027, 2, 1)),  # it follows at once
    Season("spring", date(2027, 3, 27), date(2027, 4, 10)),
    Season("summer", date(2027, 5, 1), date(2027, 9, 1)),
)
WINDOWS: Final = (("all",), ("all", "day"), ("last-1-days",), ("all", "last-3-days"), ("week",))
BOARDS: Final = {
    "twenty": Board(  # metrics
        {
            f"m{number}": Metric(("sum", "max", "min", "last")[number % 4], windows=WINDOWS[number % 5])
            for number in range(20)
        },
        Calendar(BERLIN, late=timedelta(hours=3), keep=timedelta(days=2)),
    ),
    "bounds": Board(
        {
            "points": Metric(),
            "far": Metric(descending=False, ties="first"),
            "laps": Metric(windows=("all", "last-3-days"), least=-1, most=5),
            "depth": Metric("min", precision=1, least=-1000, most=127),
        },
        Calendar(BERLIN),
    ),
    "sums": Board(
        {
            "points": Metric(precision=2, windows=("all", "day", "last-3-days", "last-90-days"), ranked_from=1),
            "strokes": Metric(descending=False, windows=("month", "last-30-days"), ranked_from=5),
            "runs": Metric(windows=()),
        },
        Calendar(BERLIN),
    ),
    "ties": Board(
        {
            "points": Metric(windows=("all", "day", "last-3-days"), tie_breaks=("lost", "far", "level")),
            "lost": Metric(descending=False, windows=("week", "last-7-days"), tie_breaks=("far",)),
            "far": Metric("max", precision=1, windows=("last-2-days",)),
            "level": Metric("last", descending=False, windows=()),
            "solved": Metric(
                ties="first", windows=("all", "season", "last-5-hours"), tie_breaks=("level", "lost"), ranked_from=-1
            ),
        },
        Calendar(BERLIN, late=timedelta(days=2), keep=timedelta(days=3), seasons=SEASONS),
    ),
    "lifts": Board(
        {
            "lift": Metric(
                "max", windows=("all", "day", "last-3-days"), ties="first", notes=True, tie_breaks=("weight", "age")
            ),
            "weight": Metric("max", precision=1, descending=False, windows=(), kept_with="lift"),
            "age": Metric("max", windows=(), kept_with="lift"),
            "time": Metric(
                "min", descending=False, windows=("all", "week", "last-5-hours"), tie_breaks=("wind",), ranked_from=127
            ),
            "wind": Metric("min", descending=False, windows=(), kept_with="time"),
            "form": Metric("last", windows=("all", "last-2-days"), tie_breaks=("mood",)),
            "mood": Metric("last", windows=(), kept_with="form"),
        },
        Calendar(BERLIN, late=timedelta(hours=30), keep=timedelta(days=3)),
    ),
    "firsts": Board(
        {
            "points": Metric(ties="first", windows=("all", "week", "last-24-hours", "last-7-days")),
            "fees": Metric(precision=9, descending=False, ties="first", windows=("all", "last-16-days")),
        },
        Calendar(BERLIN, week_start=6, late=timedelta(days=2), keep=timedelta(days=3)),
    ),
    "bests": Board(
        {
            "points": Metric("max", ties="first", windows=("all", "day", "last-7-days")),
            "time": Metric("min", precision=3, descending=False, windows=("all", "last-1-days", "last-90-hours")),
            "worst": Metric("min", ties="first", windows=("week", "last-31-days")),
        },
        Calendar(BERLIN, late=timedelta(0), keep=timedelta(days=40)),
    ),
    "lasts": Board(
        {
            "points": Metric("last", ties="first", windows=("all", "hour", "last-48-hours"), ranked_from=2),
            "level": Metric("last", precision=1, descending=False, windows=("last-2-days", "last-90-days", "year")),
        },
        Calendar(time_zone("America/St_Johns")),
    ),
    "noted": Board(
        {
            "points": Metric("max", ties="first", windows=("all", "day", "last-7-days"), notes=True),
            "time": Metric("min", 3, descending=False, windows=("all", "week", "last-3-days"), notes=True),
            "level": Metric("last", ties="first", windows=("all", "last-2-days"), notes=True),
            "runs": Metric(windows=("all",)),
        },
        Calendar(BERLIN, late=timedelta(minutes=40), keep=timedelta(days=9)),
    ),
    "bests-club": Board(
        {
            "points": Metric(ties="first", windows=("all", "day", "last-5-hours"), ranked_from=1),
            "lost": Metric(descending=False, windows=("all",)),
            "best": Metric("max", descending=False, windows=("all", "last-3-days"), notes=True),
        },
        Calendar(time_zone("Africa/Cairo")),  # clocks change at midnight
        registered=True,
    ),
    "league": Board(
        {
            "points": Metric(windows=("all", "day", "season")),
            "best": Metric("max", ties="first", windows=("season",), notes=True),
        },
        Calendar(
            BERLIN,
            late=timedelta(days=2),
            keep=timedelta(days=3),
            seasons=SEASONS,
        ),
    ),
    "ending": Board(
        {
            "points": Metric(windows=("all", "day", "last-3-days")),
            "best": Metric("max", ties="first", windows=("all", "week"), notes=True),
        },
        Calendar(BERLIN, late=timedelta(hours=30), keep=timedelta(days=3)),
        expires=timedelta(days=9),
    ),
    "ending-total": Board({"points": Metric()}, Calendar(late=timedelta(days=1)), expires=timedelta(days=4)),
}
MEMBERS: Final = (
    *("a", "b", "m#1", "images/1.jpg", "\ufffd", "\U0001f600", "\xe9", "e\u0301", '\r\n"\0', "用" * 85 + "x"),
)
FIRST_LETTERS: Final = ("z", "a", "\ufffd", "\U0001f600")
"""First letters of ids. Their order differs between UTF-8, UTF-16 and the order in which ids are made."""
NOTES: Final = (1, 2, 3)
UNITS: Final = (0, 1, 1, 2, 5, -1, -3, 127, 128, 1000, -20_000)

NEAR: Final = (9_007_199_254_740_000, -9_007_199_254_740_000, 4_503_599_627_370_000, 991)
"""Amounts near the bounds. An amount may have 15 digits that count."""

Updates = tuple[tuple[str, str, tuple[tuple[str, int], ...], int | None], ...]
"""The updates of an event: board, member, units of metrics, and the number in its note (None: it has no note)."""


@dataclass(frozen=True)
class Sent:
    """An event that the machine made up."""

    id: str
    at: datetime
    updates: Updates
    lists_boards: bool = False
    """Whether updates that are equal but for their boards are written as one, with a list of boards."""
    sets: bool = False
    """Whether the amounts are new totals, or bests."""
    history: bool = False
    """Whether it counts in periods that have closed too."""

    @property
    def members(self) -> set[str]:
        return {member for _, member, _, _ in self.updates}

    def body(self, boards: Mapping[str, Board]) -> bytes:
        shares: list[dict[str, Any]] = []
        for board, member, amounts, note in self.updates:
            share = {
                "board": board,
                "member": member,
                "metrics": {name: _number(units, boards[board].metrics[name].precision) for name, units in amounts},
                **({} if note is None else {"note": {"n": note}}),
                **({"set": True} if self.sets else {}),
            }
            if self.lists_boards and shares:
                shares[-1]["board"] = [shares[-1]["board"], board]
            else:
                shares.append(share)
        updates = shares[0] if len(shares) == 1 else {"updates": shares}
        return orjson.dumps({"id": self.id, "at": self.at.isoformat(), **updates})


def _number(units: int, precision: int) -> orjson.Fragment:
    return orjson.Fragment(f"{Decimal(units).scaleb(-precision):f}")


def draw_updates(data: st.DataObject, boards: Mapping[str, Board], members: Sequence[str]) -> Updates:
    """One to three updates, each of another pair of board and member."""
    pair = st.tuples(st.sampled_from(sorted(boards)), st.sampled_from(members))
    updates = []
    for board, member in sorted(data.draw(st.lists(pair, min_size=1, max_size=3, unique=True), label="of whom")):
        metrics = st.sampled_from(sorted(boards[board].metrics))
        drawn = data.draw(st.dictionaries(metrics, st.sampled_from(UNITS), min_size=1), label="units")
        amounts = whole(boards[board], drawn)
        keeps = keeps_notes(boards[board], amounts)
        note = data.draw(st.sampled_from((None, *NOTES) if keeps else (None,)), label="note")
        updates.append((board, member, tuple(sorted(amounts.items())), note))
    return tuple(updates)


def draw_totals(data: st.DataObject, boards: Mapping[str, Board], members: Sequence[str]) -> Updates:
    """Totals or bests to set for one or two pairs of board and member; none if these boards have no such metric."""
    settable = [
        (name, metric)
        for name in sorted(boards)
        for metric, of in boards[name].metrics.items()
        if of.aggregate != "last" and of.kept_with is None
    ]
    if not settable:
        return ()
    named = st.tuples(st.sampled_from(settable), st.sampled_from(members))
    chosen = data.draw(
        st.lists(named, min_size=1, max_size=2, unique_by=lambda one: (one[0][0], one[1])), label="whose"
    )
    units = st.sampled_from((*UNITS, *NEAR[:1]) if any(name == "bounds" for (name, _), _ in chosen) else UNITS)
    updates = []
    for (name, metric), member in chosen:
        amounts = whole(boards[name], {metric: data.draw(units, label="total")})
        note = data.draw(st.sampled_from((None, *NOTES) if keeps_notes(boards[name], amounts) else (None,)))
        updates.append((name, member, tuple(sorted(amounts.items())), note))
    return tuple(updates)


def whole(board: Board, amounts: Mapping[str, int]) -> dict[str, int]:
    """Amounts with all that are kept with one of them, as an update must name them. What is missing has its units."""
    found = dict(amounts)
    for name, units in amounts.items():
        best = board.metrics[name].kept_with or name
        for each in (best, *board.metrics[best].companions):
            found.setdefault(each, units)
    return found


def keeps_notes(board: Board, metrics: Iterable[str]) -> bool:
    """Whether one of these metrics keeps notes."""
    return any(board.metrics[metric].notes for metric in metrics)
