"""The lines of settled files, and a checksum of what they say whatever their order.

A line is `{"rank":1,"member":"u1","score":300}`. The part behind the rank follows from a member's item alone. So an
audit of Scores and a reader of files can both add up these parts, and agree only if the files hold every member of
Scores with its score, and nobody else.
"""

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

import orjson

from standings.domain.boards.definitions import Metric
from standings.read.answer_fields import score_at

_LEVEL: Final = 6
_MODULUS: Final = 2**256


class Line(NamedTuple):
    """A line of a file: a rank, and the JSON of member and score behind it."""

    rank: int
    rest: bytes

    @property
    def content(self) -> bytes:
        """The line, with its end."""
        return b'{"rank":%d,%s\n' % (self.rank, self.rest)

    @property
    def member(self) -> str:
        """The member."""
        return str(orjson.loads(b"{" + self.rest)["member"])

    @property
    def score(self) -> bytes:
        """The score as JSON, with all its decimals."""
        return self.rest[self.rest.rindex(b":") + 1 : -1]


def rest_of(member: str, sort_value: int, metric: Metric) -> bytes:
    """What a line says of a member behind its rank."""
    return orjson.dumps({"member": member, "score": score_at(sort_value, metric)})[1:]


class Checksum:
    """The sum of the digests of what lines say behind their ranks, and the number of lines."""

    def __init__(self, text: str = "0", members: int = 0) -> None:
        self._sum = int(text, 16)
        self.members = members

    def add(self, rest: bytes) -> None:
        """Add a line."""
        self._sum = (self._sum + int.from_bytes(sha256(rest).digest(), "big")) % _MODULUS
        self.members += 1

    def __str__(self) -> str:
        """The sum as text, to go on with it later."""
        return f"{self._sum:x}"


def json_part(lines: Sequence[Line]) -> bytes:
    """A file of JSON lines. The same lines are always the same bytes."""
    return gzip.compress(b"".join(line.content for line in lines), _LEVEL, mtime=0)


def csv_part(lines: Sequence[Line]) -> bytes:
    """The same lines as CSV with a header."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    # The module quotes a line feed, but not a carriage return, at which other readers end the row.
    quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    table.writerow(("rank", "member", "score"))
    for line in lines:
        member = line.member
        (quoted if "\r" in member else table).writerow((line.rank, member, line.score.decode()))
    return gzip.compress(text.getvalue().encode(), _LEVEL, mtime=0)


def read_part(content: bytes) -> Iterator[Line]:
    """The lines of a file of JSON lines."""
    for line in gzip.decompress(content).splitlines():
        rank, _, rest = line.partition(b",")
        yield Line(int(rank[len(b'{"rank":') :]), rest)


def holds(content: bytes, member: str) -> bool:
    """Whether a file of JSON lines has a line of a member."""
    return b'"member":' + orjson.dumps(member) + b"," in gzip.decompress(content)


def as_json(value: Any) -> bytes:
    """A JSON document with sorted keys: the same value is always the same bytes."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
