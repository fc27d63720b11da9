"""Which rankings a changed `boards.toml` begins anew, and why."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any, Final, NamedTuple

from standings.domain.boards import Boards, Family, Metric, Ranking
from standings.domain.coverage import Coverage, coverage_of
from standings.domain.scoring import decimal_text
from standings.domain.windows import WEEKDAYS


class Redefinition(NamedTuple):
    """Rankings that begin anew: `Redefinition("icpc-*", "solved", ("all",), "tie_breaks is penalty, was none")`.

    Boards of the family that have had events answer 404 (`not-built`) for them until they are rebuilt. `whole_from`
    names the windows whose current period a rebuild cannot bring back, as its numbers were not kept, each with the
    first period that has them all if they are rebuilt now: `{"day": "2026-11-29"}`; None: a season that begins later.
    """

    boards: str
    metric: str
    windows: tuple[str, ...]
    why: str
    whole_from: Mapping[str, str | None]


def redefinitions(before: Boards, after: Boards, now: int) -> Iterator[Redefinition]:
    """The rankings that boards with events lack after a change of definitions, which are rebuilt at `now` (ms).

    A family is compared with the one of the same name; a family with a new name is none of them.
    """
    earlier = {family.pattern: family for family in before.families}
    for family in after.families:
        if family.pattern not in earlier:
            continue
        rebuilt = coverage_of(earlier[family.pattern], 0).after_rebuild(family, now)
        for metric in family.metrics.values():
            old = earlier[family.pattern].metrics.get(metric.name)
            known = {} if old is None else old.ranking_codes
            there = metric.ranking_codes
            changed = tuple(window for window, code in there.items() if known.get(window, code) != code)
            added = tuple(window for window in there if window not in known)
            if old is not None and changed:
                why = ", ".join(_changes(old, metric))
                yield Redefinition(
                    family.pattern, metric.name, changed, why, _whole_from(rebuilt, metric, changed, now)
                )
            if added:
                why = "it is a new metric" if old is None else "new in windows"
                yield Redefinition(family.pattern, metric.name, added, why, _whole_from(rebuilt, metric, added, now))


def _whole_from(rebuilt: Coverage, metric: Metric, windows: Iterable[str], now: int) -> dict[str, str | None]:
    timetable = metric.timetable
    found: dict[str, str | None] = {}
    for window in filter(None, map(metric.window, windows)):
        unit, current = window.unit, timetable.current(window, now)
        if unit is None or rebuilt.holds(Ranking("", metric, window, current)):
            continue
        found[window.name] = None
        if unit != "s":
            first = next(period for period in count(current) if rebuilt.holds(Ranking("", metric, window, period)))
            starts = timetable.local(timetable.start(unit, first))
            found[window.name] = starts.isoformat(timespec="minutes") if unit == "h" else f"{starts.date()}"
    return found


def with_new_seasons(before: Boards, after: Boards) -> list[str]:
    """The families in which a metric is ranked in a season that none of its boards had before: `["club-*"]`.

    If such a season has begun, a board with events since lacks them in it, and no rebuild finds them.
    """
    earlier = {family.pattern: family for family in before.families}
    return [
        family.pattern
        for family in after.families
        if family.pattern in earlier and _ranked_seasons(family) - _ranked_seasons(earlier[family.pattern])
    ]


def that_begin_to_settle(before: Boards, after: Boards) -> list[str]:
    """The families that settle periods and did not before: `["club-*"]`.

    Until the maintenance function has looked for what is settled of a board that is there, history counts in none of
    its past periods.
    """
    earlier = {family.pattern: family.endings.settle for family in before.families}
    return [each.pattern for each in after.families if each.endings.settle and not earlier.get(each.pattern, (True,))]


def _ranked_seasons(family: Family) -> set[tuple[str, Any]]:
    metrics = [metric.name for metric in family.metrics.values() if metric.window("season") is not None]
    return {(metric, season) for metric in metrics for season in family.timetable.seasons.all}


_FIELDS: Final = ("aggregate", "precision", "order")
"""What a metric's rankings are made by, and those that it breaks ties of."""


def _changes(old: Metric, new: Metric) -> Iterator[str]:
    """What differs between two definitions of a metric: `tie_breaks is penalty, was none`."""
    was, now = _made_by(old), _made_by(new)
    yield from (f"{name} is {now[name]}, was {was[name]}" for name in now if name in was and was[name] != now[name])


def _made_by(metric: Metric) -> dict[str, Any]:
    """What a metric's rankings are made by: `{"order": "descending", "tie_breaks": "penalty", "penalty.order": …}`."""
    timetable = metric.timetable
    fields = {name: getattr(metric, name) for name in _FIELDS}
    fields |= {"ties": metric.ties, "timezone": timetable.timezone, "week_start": WEEKDAYS[timetable.week_start]}
    last = metric.ranked_from
    fields["ranked_from"] = "none" if last is None else decimal_text(last, metric.precision)
    fields["tie_breaks"] = " and ".join(each.name for each in metric.tie_breaks) or "none"
    return fields | {f"{each.name}.{name}": getattr(each, name) for each in metric.tie_breaks for name in _FIELDS}
