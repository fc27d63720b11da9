"""Cursors: text from which a client reads on in a list."""

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable
from hashlib import blake2b
from typing import Final, NamedTuple, TypeVar

import orjson

from standings.domain.boards import BOARD_NAME, MAX_MEMBER_BYTES, MAX_UNITS, Ranking
from standings.domain.errors import bad_argument
from standings.domain.scoring import are_possible, decode_sort_key, sort_key
from standings.read.session import METHODS, Method, RankingReader

ENDS: Final = ""
_CHECKSUM_BYTES: Final = 8
T = TypeVar("T")


class Cursor(NamedTuple):
    """Read on from a key, or one of the `ENDS`, of a period's list: `Cursor(20778, True, "MvIu123", "competition")`."""

    period: int
    forward: bool
    key: str
    method: Method


def encode_cursor(cursor: Cursor, ranking: Ranking) -> str:
    """A cursor as text, such as `AbC…`: base64 of a checksum and the cursor in JSON."""
    return _with_checksum(orjson.dumps(list(cursor)), _list_of(ranking))


def read_cursor(reader: RankingReader, text: str) -> Cursor:
    """The cursor in a text; InvalidArgumentError if it does not fit the reader or can no longer be read."""
    ranking = reader.ranking
    cursor = _decode(text, _list_of(ranking), lambda content: _parse_cursor(content, ranking))
    if reader.names_method and reader.method != cursor.method:
        raise bad_argument("cursor", f"is of a list numbered by {cursor.method}, not by {reader.method}")
    if reader.names_period and cursor.period != ranking.period:
        raise bad_argument("cursor", "is of another period than the one named")
    unit = ranking.window.unit
    is_known = cursor.period == 0 if unit is None else ranking.metric.timetable.has(unit, cursor.period)
    if not is_known or cursor.period > ranking.period:
        raise bad_argument("cursor", "is of a period that cannot be read")
    until = ranking._replace(period=cursor.period).readable_until
    if until is not None and reader.session.now >= until:
        raise bad_argument("cursor", "its period is no longer kept")
    return cursor


def encode_name(name: str, prefix: str) -> str:
    """The cursor that reads on after a board's name, in the list of names with a prefix or in another list of names."""
    return _with_checksum(name.encode(), f"names/{prefix}")


def read_name(text: str, prefix: str) -> str:
    """The name in a cursor; InvalidArgumentError if the text was altered or belongs to another list."""
    return _decode(text, f"names/{prefix}", _parse_name)


def _with_checksum(content: bytes, list_name: str) -> str:
    """The content after a checksum of it and of the list. It is no secret, so decoding checks the content too."""
    checksum = blake2b(list_name.encode() + b"/" + content, digest_size=_CHECKSUM_BYTES).digest()
    return urlsafe_b64encode(checksum + content).decode().rstrip("=")


def _decode(text: str, list_name: str, parse: Callable[[bytes], T]) -> T:
    try:
        content = b64decode(text.encode() + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)[_CHECKSUM_BYTES:]
        # Compare the text: the last letter has spare bits, which decoding ignores.
        if _with_checksum(content, list_name) != text:
            raise ValueError(text)
        return parse(content)
    except (ValueError, TypeError, LookupError) as error:
        raise bad_argument("cursor", "is altered, or of another list") from error


def _parse_cursor(content: bytes, ranking: Ranking) -> Cursor:
    period, forward, key, method = orjson.loads(content)
    if type(period) is not int or type(forward) is not bool or method not in METHODS:
        raise ValueError(content)
    if key != ENDS:
        place, member = decode_sort_key(key, ranking.metric)
        in_bounds = are_possible(place.values, ranking.metric) and abs(place.since or 0) <= MAX_UNITS
        if sort_key(place, member) != key or not in_bounds or not 1 <= len(member.encode()) <= MAX_MEMBER_BYTES:
            raise ValueError(content)
    return Cursor(period, forward, key, method)


def _parse_name(content: bytes) -> str:
    name = content.decode()
    if not BOARD_NAME.fullmatch(name):
        raise ValueError(name)
    return name


def _list_of(ranking: Ranking) -> str:
    return f"{ranking.board}#{ranking.metric.ranking_code(ranking.window)}"
