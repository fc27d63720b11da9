"""Cursors: where a list is read on."""

from base64 import b64decode, urlsafe_b64encode
from hashlib import blake2b
from typing import Final, NamedTuple

import orjson

from standings.domain.boards.definitions import MAX_UNITS
from standings.domain.boards.names import BOARD_NAME, MAX_MEMBER_BYTES
from standings.domain.boards.ranking import Ranking
from standings.domain.scoring.sort_order import decode_sort_key, sort_key

ENDS: Final = ""
_SEAL: Final = 8
"""Bytes of a cursor that tell whether it is whole, and of which list."""


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
            place, member = decode_sort_key(key, ties_by_instant=ranking.metric.ties_by_instant)
            beyond = max(abs(place.sort_value), abs(place.since or 0)) > MAX_UNITS
            if sort_key(place, member) != key or beyond or not 1 <= len(member.encode()) <= MAX_MEMBER_BYTES:
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
