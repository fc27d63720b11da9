"""A league on Standings: `POST`, `GET` and `DELETE /league/{member}`, and what settled groups lead to."""

import gzip
import json
import os
from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import boto3
import orjson
from botocore.config import Config
from rules import League, Seat
from seats import COUNTER, Refused, Seats

from standings.client import ApiError, BadArgument, NotFound, connect, time_zone
from standings.domain.boards import MAX_MEMBER_BYTES
from standings.domain.events import RefusedEvent, read_at, refuse
from standings.domain.windows import EPOCH

if TYPE_CHECKING:
    from standings.client.answer_types import Page

# Named, since the SDK's defaults differ from release to release. Whoever calls the API calls again after a 500.
_ATTEMPTS = Config(retries={"mode": "standard", "total_max_attempts": 5})
_league = League(
    tuple(os.environ["DIVISIONS"].split(",")),
    int(os.environ["GROUP_SIZE"]),
    int(os.environ["RISE"]),
    int(os.environ["FALL"]),
    os.environ["WINDOW"],
    time_zone(os.environ["TIMEZONE"]),
    os.environ["BOARD_PREFIX"],
    timedelta(hours=int(os.environ["PATIENCE_HOURS"])),
)
_seats = Seats(boto3.client("dynamodb", config=_ATTEMPTS), os.environ["LEAGUE_TABLE"], _league)
_s3 = boto3.client("s3", config=_ATTEMPTS)
_standings = connect(tables={name: os.environ[f"{name.upper()}_TABLE"] for name in ("scores", "rankings", "profiles")})


class Wrong(Exception):
    """A request that is refused before anything is written. The text says what is expected."""


class Call(NamedTuple):
    """A request: `Call("POST", "ann", date(2026, 11, 16), datetime(2026, 11, 17, 10, tzinfo=UTC))`.

    `period` is the first day of that in which the activity was, `now` when the request came.
    """

    method: str
    member: str
    period: date
    now: datetime


def api(event: dict[str, Any], _: Any) -> dict[str, Any]:
    """Answer a request of API Gateway (payload format 2.0).

    The body of a `POST` may say when the activity was, as `{"at": "2026-11-17T10:00:00Z"}`; by default it is now.
    """
    try:
        call = _call(event)
        if call.method == "DELETE":
            _seats.erase(call.member)
            return {"statusCode": 204}
        _check_kept(call)
        if call.method == "POST":
            _seats.enrol(call.member, call.period, call.now, _has_result)
        return _answer(200, _state(call))
    except Refused as error:
        return _answer(409, {"detail": str(error)})
    except ApiError as error:
        return _answer(error.status, {"detail": error.detail})
    except Wrong as error:
        return _answer(400, {"detail": str(error)})


def _call(event: dict[str, Any]) -> Call:
    """Read a request. Raises Wrong."""
    try:
        context = event["requestContext"]
        now, method = context["timeEpoch"], context["http"]["method"]
        if method not in ("POST", "GET", "DELETE"):
            raise ValueError(f"got the method {method!r}")
        member = event["pathParameters"]["member"]
        if not 1 <= len(member.encode()) <= MAX_MEMBER_BYTES or member == COUNTER:
            refuse("member", "member", f"1 to {MAX_MEMBER_BYTES} bytes of UTF-8 that are not {COUNTER!r}", member)
        at = now if method == "DELETE" else _at(event.get("body") or "{}", now, encoded=event.get("isBase64Encoded"))
        period = _league.period(EPOCH + timedelta(milliseconds=at))
        return Call(method, member, period, datetime.fromtimestamp(now / 1000, UTC))
    except RefusedEvent as error:
        raise Wrong(str(error)) from error
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        expected = (
            'expected POST, GET or DELETE /league/MEMBER, and no body or one such as {"at": "2026-11-17T10:00:00Z"}'
        )
        raise Wrong(f"{expected}: {error}") from error


def _at(body: str, now: int, *, encoded: Any) -> int:
    """When the activity was, by the rules for the `at` of an event. `now` is in milliseconds, as the result."""
    document = orjson.loads(b64decode(body, validate=True) if encoded else body)
    if not isinstance(document, dict) or document.keys() - {"at"}:
        refuse("json", "body", "an object with `at` or nothing in it", document)
    at = document.get("at", "")
    if not isinstance(at, str):
        refuse("at", "at", "text such as 2026-11-17T10:00:00Z", at)
    return read_at(at, now) if "at" in document else now


def _check_kept(call: Call) -> None:
    """Raise Wrong if the ranking of the period can no longer be read. One that has just begun always can."""
    if call.period >= _league.period(call.now):
        return
    group = _league.board(Seat(_league.divisions[0], call.period, 1))
    try:
        _standings.board(group).top(1, me=call.member, window=_league.window, period=call.period)
    except (BadArgument, NotFound) as error:
        if isinstance(error, BadArgument) or error.kind in ("period-gone", "expired"):
            raise Wrong(f"at: expected a time of a period that is still kept: {error.detail}") from error


def _page(board: str, period: date, member: str) -> "Page | None":
    """The list of a group; None if the period begins within minutes: an activity may be so far ahead."""
    try:
        return _standings.board(board).top(1, me=member, window=_league.window, period=period)
    except BadArgument:
        return None


def _has_result(board: str, period: date, member: str) -> bool:
    """Whether a group has, or may yet have, a result: not if its period is final, or gone, and nobody has a score."""
    try:
        page = _page(board, period, member)
    except NotFound:
        return False
    return page is None or page["total"] > 0 or page.get("state") != "final"


def _state(call: Call) -> dict[str, Any]:
    """Where a member is: its division, and with a seat also its board, the lines of its group, and the days left."""
    member, period = call.member, call.period
    board = _seats.board(member, period)
    known = _seats.member(member)
    state = {
        "member": member,
        "division": known.division or _league.divisions[0],
        "period": str(period),
        "board": board,
    }
    seat = _league.seat(board) if board else None
    if board is None or seat is None:
        return state
    # The division of the seat: a settlement may have moved the member since.
    page = _page(board, period, member)
    total, me = (page["total"], page.get("me")) if page else (0, None)
    rise, fall = _league.line(seat.division, total)
    days = max(0, -(-(_league.end(period) - call.now) // timedelta(days=1)))
    lines = {"rises_to_rank": rise or None, "falls_from_rank": total - fall + 1 if fall else None}
    rank = me["rank"] if me else None
    return {**state, "division": seat.division, "rank": rank, "members": total, **lines, "days_left": days}


def settled(event: dict[str, Any], _: Any) -> None:
    """Move the members of a group whose period is settled. It may be called twice, or die: it ends as if once."""
    about = event["detail"]
    seat = _league.seat(about["board"])
    # A board also has later periods, with late events or none: they are not those of its group.
    if seat is None or (about["window"], about["period"]) != (_league.window, str(seat.period)):
        return
    members = _seats.close(about["board"])
    ranked = _lines(about["bucket"], about["prefix"])
    for member, division in _league.next_divisions(seat.division, members, ranked).items():
        _seats.move(member, seat, division)


def _lines(bucket: str, prefix: str) -> Iterator[dict[str, Any]]:
    """The list of a settled period, in its order."""
    found = _s3.list_objects_v2(Bucket=bucket, Prefix=f"{prefix}standings-").get("Contents", [])
    for key in sorted(one["Key"] for one in found if one["Key"].endswith(".jsonl.gz")):
        body = _s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        yield from map(json.loads, gzip.decompress(body).splitlines())


def _answer(status: int, body: dict[str, Any]) -> dict[str, Any]:
    return {"statusCode": status, "headers": {"content-type": "application/json"}, "body": json.dumps(body)}
