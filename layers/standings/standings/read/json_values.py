"""How answers look: numbers, instants, cursors, and problems that say what to do."""

import re
from base64 import b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import orjson

from standings.domain.boards.boards_toml import MOST_DECIMALS
from standings.domain.boards.definitions import MAX_UNITS, Metric, Ranking
from standings.domain.events.event_rules import BOARD_NAME, LONGEST_MEMBER, LONGEST_SHOWN
from standings.domain.scoring.sort_order import read_sort_key, sort_key
from standings.domain.windows.late_and_keep import Timetable

_NUMBER: Final = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
ENDS: Final = ""
_SEAL: Final = 8
"""Bytes of a cursor that tell whether it is whole, and of which list."""


class Problem(Exception):
    """Why a question has no answer: `kind` tells problems of one status from each other."""

    def __init__(self, status: int, kind: str, title: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.document = {
            "type": f"urn:standings:{kind}",
            "title": title,
            "status": status,
            "detail": detail,
        }


def bad_argument(name: str, detail: str) -> Problem:
    """400: an argument that cannot be, named."""
    return Problem(400, "bad-argument", "Bad argument", f"{name}: {detail}")


def bad_body(detail: str) -> Problem:
    """400: the body of a request cannot be what it has to be."""
    return Problem(400, "bad-body", "Bad body", detail)


def not_found(kind: str, title: str, detail: str) -> Problem:
    """404, of one of several kinds."""
    return Problem(404, kind, title, detail)


def no_such_member(board: str, member: str) -> Problem:
    """404: nobody of that name, or not any more."""
    return not_found("no-such-member", "No such member", f"board {board!r} has no member {member!r}")


def check_member(argument: str, member: str) -> None:
    """400 for a text that can be no member's id."""
    if not 1 <= len(member.encode()) <= LONGEST_MEMBER:
        raise bad_argument(argument, f"must have 1 to {LONGEST_MEMBER} bytes of UTF-8")


def units_of(argument: str, text: str, precision: int) -> int:
    """A score that a reader names, in units; 400 for one that a metric of that precision cannot have."""
    score = _number(argument, text) * 10**precision
    if score.denominator != 1:
        kept = f"a number of at most {precision} decimals" if precision else "a whole number"
        raise bad_argument(argument, f"must be {kept}, is {text[:LONGEST_SHOWN]!r}")
    if abs(score) > MAX_UNITS:
        raise bad_argument(argument, f"is beyond ±(2^53 - 1) units of the metric: {text[:LONGEST_SHOWN]!r}")
    return int(score)


def percentage(argument: str, text: str) -> Fraction:
    """A percentage above 0 and up to 100, exactly."""
    share = _number(argument, text)
    if not 0 < share <= 100 or (share * 10**MOST_DECIMALS).denominator != 1:  # noqa: PLR2004 - percent
        detail = f"must be above 0 and at most 100, with at most {MOST_DECIMALS} decimals"
        raise bad_argument(argument, f"{detail}, is {text[:LONGEST_SHOWN]!r}")
    return share


def _number(argument: str, text: str) -> Fraction:
    """A number as JSON has it, exactly."""
    if not _NUMBER.fullmatch(text):
        raise bad_argument(argument, f"must be a number such as 12 or -0.5, is {text[:LONGEST_SHOWN]!r}")
    return Fraction(text)


def exactly(share: Fraction) -> Any:
    """A percentage as a JSON number."""
    return decimal(int(share * 10**MOST_DECIMALS), MOST_DECIMALS)


def decimal(units: int, precision: int) -> Any:
    """A whole number of units as a JSON number with at most `precision` decimals, exactly."""
    if not precision:
        return units
    whole, part = divmod(abs(units), 10**precision)
    text = f"{'-' if units < 0 else ''}{whole}.{part:0{precision}d}".rstrip("0").rstrip(".")
    return orjson.Fragment(text)


def score_of(units: int, metric: Metric) -> Any:
    """A score as a JSON number."""
    return decimal(units, metric.precision)


def percentile(behind: int, total: int) -> Any:
    """100 × members at or behind ÷ all members, to two decimals."""
    return decimal((20_000 * behind + total) // (2 * total), 2)


def instant(at: int | None) -> str | None:
    """An instant in UTC, to the millisecond."""
    if at is None:
        return None
    when = _EPOCH + timedelta(milliseconds=at)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def period(ranking: Ranking) -> dict[str, str | None]:
    """The start and the end of a ranking's period, as the board's clocks show them."""
    timetable = ranking.metric.timetable
    bounds = timetable.bounds(ranking.window, ranking.period)
    if bounds is None:
        return {"start": None, "end": None}
    return {"start": _local(timetable, bounds[0]), "end": _local(timetable, bounds[1])}


def _local(timetable: Timetable, at: int) -> str:
    return timetable.local(at).isoformat().replace("+00:00", "Z")


class Cursor(NamedTuple):
    """A key in a list, and the direction in which to read on from it; `ENDS` is before or after all of it.

    `method` is how the ranks of the list are numbered.
    """

    period: int
    forward: bool
    key: str
    method: str


def encode_cursor(cursor: Cursor, ranking: Ranking) -> str:
    """A cursor as text that no one needs to understand."""
    return _sealed(orjson.dumps(list(cursor)), _list_of(ranking))


def decode_cursor(text: str, ranking: Ranking) -> Cursor:
    """The cursor in a text; ValueError for one that was altered, or that is of another list."""
    said = _unsealed(text, _list_of(ranking))
    found = orjson.loads(said)
    try:
        period, forward, key, method = found
        if key != ENDS:
            place, member = read_sort_key(key, dated=ranking.metric.dated)
            beyond = max(abs(place.ordinal), abs(place.since or 0)) > MAX_UNITS
            if sort_key(place, member) != key or beyond or not 1 <= len(member.encode()) <= LONGEST_MEMBER:
                raise ValueError(text)
    except (TypeError, KeyError, IndexError, AttributeError) as error:
        raise ValueError(text) from error
    if type(period) is not int or type(forward) is not bool or type(method) is not str:
        raise ValueError(text)
    return Cursor(period, forward, key, method)


def encode_name(name: str, prefix: str) -> str:
    """The cursor that reads on, in a list of names with a prefix, from a name."""
    return _sealed(name.encode(), f"names/{prefix}")


def decode_name(text: str, prefix: str) -> str:
    """The name in a cursor; ValueError for one that was altered, or that is of another list."""
    name = _unsealed(text, f"names/{prefix}").decode()
    if not BOARD_NAME.fullmatch(name):
        raise ValueError(text)
    return name


def _unsealed(text: str, of: str) -> bytes:
    """What a sealed text says.

    The seal is no secret: whoever forges one reads on from another place of a list that they may read anyway. What
    it holds is looked at all the same.
    """
    raw = b64decode(text.encode() + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    said = raw[_SEAL:]
    # The last letter has bits to spare: only the one way to write it is not altered.
    if _sealed(said, of) != text:
        raise ValueError(text)
    return said


def _sealed(said: bytes, of: str) -> str:
    """What is said, with a seal before it that also knows of which list it is."""
    seal = blake2b(of.encode() + b"/" + said, digest_size=_SEAL).digest()
    return urlsafe_b64encode(seal + said).decode().rstrip("=")


def _list_of(ranking: Ranking) -> str:
    metric, window = ranking.metric, ranking.window
    return f"{ranking.board}#{metric.ranking_codes[window.name]}{window.code}"
