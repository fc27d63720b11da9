"""Answers about boards: the list of boards, those that a member is in with its ranks there, the definition of one."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from standings.domain.boards import BOARD_NAME, Family, Metric, Prize, check_member, family_of
from standings.domain.coverage import BoardRecord
from standings.domain.errors import NotFoundError, bad_argument, being_deleted
from standings.domain.members import Image
from standings.domain.windows import WEEKDAYS, Timetable, day_text, instant, parse_window, span_text
from standings.read import member_ranks
from standings.read.cursors import encode_name, read_name
from standings.read.session import ReadSession, decimal_of
from standings.stores import IndexNotBuiltError

MAX_RANKINGS: Final = 100  # Rankings after which a page with ranks ends: each is about as dear as a member of a group


def boards(session: ReadSession, *, prefix: str, limit: int, cursor: str | None) -> dict[str, Any]:
    """The boards whose names begin with a prefix, by name: `{"boards": [{"board": "berlin-2026"}, …], "next": None}`.

    `next` is the next page's cursor. InvalidArgumentError for a prefix that no name has, or a cursor of another list.
    """
    if prefix and not BOARD_NAME.fullmatch(prefix):
        raise bad_argument("prefix", f"no name of a board begins with {prefix[:80]!r}")
    after = None if cursor is None else read_name(cursor, prefix)
    names = session.retry(session.tables.records.names, after, limit + 1, prefix, leaving=False)
    following = encode_name(names[limit - 1], prefix) if len(names) > limit else None
    return {"boards": [{"board": name} for name in names[:limit]], "next": following}


def boards_of(
    session: ReadSession, *, member: str, limit: int, cursor: str | None, window: str | None = None
) -> dict[str, Any]:
    """The boards that a member is in, by name; with a `window` also its ranks in the current period of that.

    `{"member": "u7", "boards": [{"board": "berlin-2026", "hidden": False}], "next": None}`. With a window each board
    also has `metrics`, as on the member's card.

    The index says where to look, the items say what is there: each is read strongly consistently. So a page may have
    fewer boards than the index names, and a board may be missing to which the member has come within about a second.
    `next` is the cursor of the next page. Raises InvalidArgumentError, and NotFoundError as long as the index is built.
    """
    check_member("id", member)
    if window is not None:
        try:
            parse_window(window)
        except ValueError as error:
            raise bad_argument("window", str(error)) from error
    after = None if cursor is None else read_name(cursor, _list_of(member))
    try:
        named = session.retry(session.tables.scores.boards_of, member, after, limit + 1)
    except IndexNotBuiltError as error:
        detail = "the index of members' boards is being built, which may take hours after an upgrade: try again later"
        raise NotFoundError("not-built", "Index not built yet", detail) from error
    images, last = _on_page(session, named[:limit], member, window)
    is_last = last is None and len(named) <= limit
    if window is not None and images:
        found = member_ranks.cards(session, images, window)
    else:
        found = [{"board": image.board, "hidden": image.hidden} for image in images]
    return {
        "member": member,
        "boards": [{name: value for name, value in board.items() if name != "member"} for board in found],
        "next": None if is_last else encode_name(last or named[limit - 1], _list_of(member)),
    }


def _on_page(
    session: ReadSession, boards: Sequence[str], member: str, window: str | None
) -> tuple[list[Image], str | None]:
    """The member's items on readable boards, and the board with which a page of `MAX_RANKINGS` ends early, or None."""
    keys = [(board, member) for board in boards]
    found = session.retry(session.tables.scores.images, keys, consistent=True)
    records = session.records([board for board, member in keys if (board, member) in found])
    images: list[Image] = []
    rankings = 0
    for previous, key in zip([None, *boards], keys, strict=False):
        image, record = found.get(key), records.get(key[0])
        has_gone = record is not None and (record.is_being_deleted or record.has_ended(session.now))
        if image is None or image.removed or has_gone:
            continue
        more = len(member_ranks.rankings_in(session, image.board, window)) if window is not None else 0
        if rankings and rankings + more > MAX_RANKINGS:
            return images, previous
        rankings += more
        images.append(image)
    return images, None


def _list_of(member: str) -> str:
    """The name of the list of a member's boards, in cursors. No prefix of boards' names begins like that."""
    return f"/{member}"


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
        **({} if metric.unit is None else {"unit": metric.unit}),
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
    return [
        {"name": season.name, "starts": day_text(season.starts), "ends": day_text(season.ends)}
        for season in timetable.seasons.all
    ]
