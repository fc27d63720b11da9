"""A league on Standings: `POST`, `GET` and `DELETE /league/{member}`, and what settled groups lead to."""

import gzip
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import boto3
from rules import League
from seats import Refused, Seats

from standings.client import connect

MAX_MEMBER_BYTES = 256
_league = League(
    tuple(os.environ["DIVISIONS"].split(",")),
    int(os.environ["GROUP_SIZE"]),
    int(os.environ["RISE"]),
    int(os.environ["FALL"]),
    os.environ["WINDOW"],
    ZoneInfo(os.environ["TIMEZONE"]),
    os.environ["BOARD_PREFIX"],
    timedelta(hours=int(os.environ["PATIENCE_HOURS"])),
)
_seats = Seats(boto3.client("dynamodb"), os.environ["LEAGUE_TABLE"], _league)
_s3 = boto3.client("s3")
_standings = connect(tables={name: os.environ[f"{name.upper()}_TABLE"] for name in ("scores", "rankings", "profiles")})


def api(event: dict[str, Any], _: Any) -> dict[str, Any]:
    """Answer a request of API Gateway (payload format 2.0).

    The body of a `POST` may say when the activity was, as `{"at": "2026-11-17T10:00:00Z"}`; by default it is now.
    """
    member = event["pathParameters"]["member"]
    now = datetime.fromtimestamp(event["requestContext"]["timeEpoch"] / 1000, UTC)
    method = event["requestContext"]["http"]["method"]
    if method == "DELETE":
        _seats.erase(member)
        return {"statusCode": 204}
    try:
        at = datetime.fromisoformat(json.loads(event.get("body") or "{}").get("at", now.isoformat()))
        if at.tzinfo is None or len(member.encode()) > MAX_MEMBER_BYTES:
            raise ValueError("the time has no offset, or the member has more than 256 bytes")
    except (ValueError, TypeError, AttributeError) as error:
        return _answer(
            400, {"detail": f'expected a member, and a body such as {{"at": "2026-11-17T10:00:00Z"}}: {error}'}
        )
    try:
        if method == "POST":
            _seats.enrol(member, _league.period(at), now)
    except Refused as error:
        return _answer(409, {"detail": str(error)})
    return _answer(200, _state(member, at, now))


def _state(member: str, at: datetime, now: datetime) -> dict[str, Any]:
    """Where a member is: its division, and with a seat also its board, the lines of its group, and the days left."""
    period = _league.period(at)
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
    page = _standings.board(board).top(1, me=member, window=_league.window, period=period)
    rise, fall = _league.line(seat.division, page["total"])
    rank = page["me"]["rank"] if page["me"] else None
    days = max(0, -(-(_league.end(period) - now) // timedelta(days=1)))
    lines = {"rises_to_rank": rise, "falls_from_rank": page["total"] - fall + 1 if fall else None}
    return {**state, "division": seat.division, "rank": rank, "members": page["total"], **lines, "days_left": days}


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
        _seats.move(member, division, seat.period)


def _lines(bucket: str, prefix: str) -> Iterator[dict[str, Any]]:
    """The list of a settled period, in its order."""
    found = _s3.list_objects_v2(Bucket=bucket, Prefix=f"{prefix}standings-").get("Contents", [])
    for key in sorted(one["Key"] for one in found if one["Key"].endswith(".jsonl.gz")):
        body = _s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        yield from map(json.loads, gzip.decompress(body).splitlines())


def _answer(status: int, body: dict[str, Any]) -> dict[str, Any]:
    return {"statusCode": status, "headers": {"content-type": "application/json"}, "body": json.dumps(body)}
