"""Fields that several answers have: scores, percentiles and periods as JSON, and the head of every answer."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import orjson

from standings.domain.boards.definitions import Metric, Ranking
from standings.domain.scoring.aggregates import Aggregate
from standings.domain.scoring.sort_order import sort_value
from standings.domain.windows import endings
from standings.domain.windows.calendar import instant
from standings.ports.rankings import Entry, Node
from standings.read.reader import Method


def head(
    ranking: Ranking, now: int, method: Method, nodes: Iterable[Node], entries: Iterable[Entry] = ()
) -> dict[str, Any]:
    """The ranking, the method, and `as_of`: when the latest of the nodes and entries was written.

    `state` and `final_at` say whether events can still change its scores at `now`.
    """
    timetable = ranking.metric.timetable
    stamps = [node.written_at_ms for node in nodes if node.written_at_ms is not None]
    stamps += [entry.written_at_ms for entry in entries]
    return {
        "board": ranking.board,
        "metric": ranking.metric.name,
        "window": ranking.window.name,
        "period": period(ranking),
        "state": endings.state_of(timetable, ranking.window, ranking.period, now),
        "final_at": instant(endings.final_at(timetable, ranking.window, ranking.period)),
        "order": ranking.metric.order,
        "method": method,
        "as_of": instant(max(stamps, default=None)),
    }


def decimal(units: int, precision: int) -> Any:
    """A whole number of units as a JSON number with at most `precision` decimals. It is exact."""
    if not precision:
        return units
    return orjson.Fragment(f"{Decimal(units).scaleb(-precision).normalize():f}")


def note(aggregate: Aggregate | None) -> Any:
    """The note of an aggregate, as it was sent; None if it has none."""
    return orjson.Fragment(aggregate.note) if aggregate is not None and aggregate.note else None


def score_at(number: int, metric: Metric) -> Any:
    """The score that has this sort value, as a JSON number."""
    return decimal(sort_value(number, descending=metric.descending), metric.precision)


def percentile(ahead: int, total: int) -> Any:
    """The percentage of members that are not ahead, rounded half up to two decimals."""
    return decimal((20_000 * (total - ahead) + total) // (2 * total), 2)


def period(ranking: Ranking) -> dict[str, str | None]:
    """The start and the end of a ranking's period in the board's time zone, and the name of a season.

    They are None for `all` and before the first season.
    """
    timetable = ranking.metric.timetable
    bounds = timetable.bounds(ranking.window, ranking.period)
    if bounds is None:
        return {"start": None, "end": None, **({"name": None} if ranking.window.unit == "s" else {})}
    start, end = (timetable.local(at).isoformat().replace("+00:00", "Z") for at in bounds)
    named = {"name": timetable.seasons[ranking.period].name} if ranking.window.unit == "s" else {}
    return {"start": start, "end": end, **named}
