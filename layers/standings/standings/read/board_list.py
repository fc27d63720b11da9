"""Answers about boards: the list of boards, and the definition of one."""

from collections.abc import Iterable
from typing import Any

from standings.domain.boards import BOARD_NAME, Family, Metric, Prize, family_of
from standings.domain.coverage import BoardRecord
from standings.domain.errors import bad_argument, being_deleted
from standings.domain.windows import WEEKDAYS, Timetable, day_text, instant, span_text
from standings.read.cursors import encode_name, read_name
from standings.read.session import ReadSession, decimal_of


def boards(session: ReadSession, *, prefix: str, limit: int, cursor: str | None) -> dict[str, Any]:
    """The boards whose names begin with a prefix, by name: `{"boards": [{"board": "berlin-2026"}, …], "next": None}`.

    `next` is the cursor of the next page. Raises InvalidArgumentError for a prefix that no name has, and for a cursor
    that does not fit.
    """
    if prefix and not BOARD_NAME.fullmatch(prefix):
        raise bad_argument("prefix", f"no name of a board begins with {prefix[:80]!r}")
    after = None if cursor is None else read_name(cursor, prefix)
    names = session.retry(session.tables.records.names, after, limit + 1, prefix, leaving=False)
    following = encode_name(names[limit - 1], prefix) if len(names) > limit else None
    return {"boards": [{"board": name} for name in names[:limit]], "next": following}


def definition(session: ReadSession, board: str) -> dict[str, Any]:
    """A board's definition, with each window's current period. Raises NotFoundError if the board is being deleted."""
    family = family_of(session.boards, board)
    record = session.record(board)
    if record is not None and record.is_being_deleted:
        raise being_deleted(board)
    timetable = family.timetable
    return {
        "board": board,
        "family": family.pattern,
        "timezone": timetable.timezone,
        "week_start": WEEKDAYS[timetable.week_start],
        "members": family.members,
        "late": span_text(timetable.late),
        "keep": span_text(timetable.keep),
        "shards": family.shards,
        **({"seasons": _seasons(timetable)} if timetable.seasons.all else {}),
        **({"settle": [*family.endings.settle]} if family.endings.settle else {}),
        **_expires(family, record),
        "metrics": [_metric(session, board, family, metric) for metric in family.metrics.values()],
    }


def _expires(family: Family, record: BoardRecord | None) -> dict[str, Any]:
    """How long boards last, and when this one ends, as it began: `{"expires": "60 days", "expires_at": …}`."""
    ends = None if record is None or record.deleted else record.ends
    if family.expires is None and ends is None:
        return {}
    return {"expires": None if family.expires is None else span_text(family.expires), "expires_at": instant(ends)}


def _metric(session: ReadSession, board: str, family: Family, metric: Metric) -> dict[str, Any]:
    """A metric's definition, with each window's current period."""
    least, most = (bound and decimal_of(bound, metric.precision) for bound in (metric.least, metric.most))
    last = metric.ranked_from
    return {
        "metric": metric.name,
        "aggregate": metric.aggregate,
        "precision": metric.precision,
        "order": metric.order,
        "ties": metric.ties,
        "least": least,
        "most": most,
        "notes": metric.notes,
        **({} if last is None else {"ranked_from": decimal_of(last, metric.precision)}),
        **({"with": metric.kept_with} if metric.kept_with is not None else {}),
        **({"tie_breaks": [each.name for each in metric.tie_breaks]} if metric.tie_breaks else {}),
        "windows": [
            {
                "window": window.name,
                "period": session.period(session.current(board, metric, window)),
                **_prizes(family.endings.prizes_of(window.name, metric.name)),
            }
            for window in metric.windows
        ],
    }


def _prizes(prizes: Iterable[Prize]) -> dict[str, Any]:
    """The prizes of a window: `{"name": "gold", "method": "competition", "ranks": "1"}` for each; nothing for none."""
    shown = []
    for name, _, first, last, percent, method in prizes:
        ranks = str(first) if first == last else f"{first}-{last}"
        shown.append({"name": name, "method": method, **({"percent": percent} if percent else {"ranks": ranks})})
    return {"prizes": shown} if shown else {}


def _seasons(timetable: Timetable) -> list[dict[str, str]]:
    """A family's seasons as `boards.toml` writes them, by start."""
    return [
        {"name": season.name, "starts": day_text(season.starts), "ends": day_text(season.ends)}
        for season in timetable.seasons.all
    ]
