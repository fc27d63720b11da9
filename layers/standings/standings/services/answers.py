"""How answers look: numbers, instants, cursors, and problems that say what to do."""

from base64 import b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import orjson

from standings.domain.boards import MAX_UNITS, Metric, Ranking
from standings.domain.events import LONGEST_MEMBER
from standings.domain.places import place, split_place
from standings.domain.windows import Timetable

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


def not_found(kind: str, title: str, detail: str) -> Problem:
    """404, of one of several kinds."""
    return Problem(404, kind, title, detail)


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
    """A place in a list, and the direction in which to read on from it; `ENDS` is before or after all of it."""

    period: int
    forward: bool
    place: str


def encode_cursor(ranking: Ranking, at: str, *, forward: bool) -> str:
    """A cursor as text that no one needs to understand."""
    said = orjson.dumps([ranking.period, forward, at])
    return urlsafe_b64encode(_seal(said, ranking) + said).decode().rstrip("=")


def decode_cursor(text: str, ranking: Ranking) -> Cursor:
    """The cursor in a text; ValueError for one that was altered, or that is of another list.

    The seal is no secret: whoever forges one reads on from another place of a list that they may read anyway. What
    it holds is looked at all the same.
    """
    raw = b64decode(text.encode() + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    said = raw[_SEAL:]
    # The last letter has bits to spare: only the one way to write it is not altered.
    if raw[:_SEAL] != _seal(said, ranking) or urlsafe_b64encode(raw).decode().rstrip("=") != text:
        raise ValueError(text)
    found = orjson.loads(said)
    try:
        period, forward, text_of_place = found
        number, member = split_place(text_of_place) if text_of_place != ENDS else (0, "")
        if text_of_place != ENDS and (
            place(number, member) != text_of_place or abs(number) > MAX_UNITS or len(member.encode()) > LONGEST_MEMBER
        ):
            raise ValueError(text)
    except (TypeError, KeyError, IndexError, AttributeError) as error:
        raise ValueError(text) from error
    if type(period) is not int or type(forward) is not bool:
        raise ValueError(text)
    return Cursor(period, forward, text_of_place)


def _seal(said: bytes, ranking: Ranking) -> bytes:
    metric, window = ranking.metric, ranking.window
    of = f"{ranking.board}#{metric.ranking_codes[window.name]}{window.code}"
    return blake2b(of.encode() + b"/" + said, digest_size=_SEAL).digest()
