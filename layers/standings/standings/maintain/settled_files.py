"""The files of settled periods: where they are, what their lines say, and which of them hold a member.

They are under `results/{board}/{metric}/{window}/{period}/`. `{period}` is the period's first day, such as
`2026-11-16`, or the name of a season, such as `winter`. If the files of an earlier season with that name are there
already, it is the name and the first day: `winter-2027-12-01`.

A period with a `summary.json` is settled. `sent-00001.json` … hold the ids of events that were put, and `events.json`
says that all were. `attempt.json` names the attempt that began last: older attempts stop when they see its name.

`standings-00001.jsonl.gz` … hold the ranking, a line for each member: `{"rank":1,"member":"u1","score":300}`, with
`,"tie_breaks":{"penalty":312}` behind the score where the ranking has some. The part behind the rank follows from a
member's item alone. So an audit of Scores and a reader of files can both add up these parts, and agree only if the
files hold every member of Scores with its score, and nobody else.
"""

import csv
import gzip
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple

import orjson

from standings.aws.s3 import ResultsBucket
from standings.domain.boards import Metric, Ranking, column_of
from standings.domain.scoring import SortValues
from standings.domain.windows import label_of
from standings.read.session import period_of, scored
from standings.runtime.clock import Clock

SUMMARY: Final = "summary.json"
ALL_SENT: Final = "events.json"
ATTEMPT: Final = "attempt.json"
EMPTY: Final = "empty.json"
"""Says that a run of the schedule left a period unsealed, because nobody is ranked in it."""
_JSON_PART: Final = ".jsonl.gz"
_PART: Final = "standings-"
_SENT: Final = "sent-"


@dataclass(frozen=True)
class Files:
    """The files of one ranking's period. Each request is retried for up to `RETRIED_FOR_S`.

    Methods may raise StoreUnavailableError.
    """

    results: ResultsBucket
    prefix: str
    clock: Clock

    @classmethod
    def of(cls, results: ResultsBucket, ranking: Ranking, clock: Clock) -> "Files":
        """The files of a ranking that has periods."""
        about, lasts = names_of(ranking), period_of(ranking)
        folder = f"{board_prefix(ranking.board)}{about['metric']}/{about['window']}/{about['period']}"
        files = cls(results, f"{folder}/", clock)
        if ranking.window.unit != "s" or not files._are_of_another_period(lasts):
            return files
        return replace(files, prefix=f"{folder}-{str(lasts['start'])[:10]}/")

    def _are_of_another_period(self, lasts: Mapping[str, Any]) -> bool:
        """Whether the files that are there belong to a period that shares no time with this one."""
        about = self.document(ATTEMPT) or self.document(SUMMARY)
        if about is None:
            return False
        start, end, their_start, their_end = (
            datetime.fromisoformat(period[name]) for period in (lasts, about) for name in ("start", "end")
        )
        return end <= their_start or their_end <= start

    @property
    def label(self) -> str:
        """The name of the folder: `2026-11-16` or `winter`."""
        return self.prefix.rstrip("/").rpartition("/")[2]

    def document(self, name: str) -> Any:
        """A JSON document, such as `SUMMARY`; None if there is none."""
        content = self._content(name)
        return None if content is None else orjson.loads(content)

    def put(self, name: str, document: Any) -> None:
        """Write a JSON document. The same value is always the same bytes."""
        self._put(name, _as_json(document))

    def settle(self, summary: dict[str, Any]) -> None:
        """Write the summary, unless there is one."""
        self._put(SUMMARY, _as_json(summary), is_new=True)

    def reopen(self) -> None:
        """Delete the summary, so that the period is not settled. The ids of events that were put stay.

        The summary goes last. If the call fails in between, the period is still settled.
        """
        self.clock.retry(self.results.delete, self.prefix + ALL_SENT)
        self.clock.retry(self.results.delete, self.prefix + SUMMARY)

    def begin(self, attempt: str, ranking: Ranking) -> None:
        """Store that an attempt begins to write a ranking's files. From now on, older attempts are outdated."""
        lasts = period_of(ranking)
        self.put(ATTEMPT, {"attempt": attempt, "start": lasts["start"], "end": lasts["end"]})

    def is_outdated(self, attempt: str | None) -> bool:
        """Whether another attempt has begun to write files after this one."""
        about = self.document(ATTEMPT)
        return about is None or about["attempt"] != attempt

    def put_part(self, number: int, lines: Sequence["Line"], metric: Metric) -> None:
        """Write some lines of the metric's ranking, in both formats."""
        self._put(_part(number), gzip.compress(b"".join(line.content for line in lines), _LEVEL, mtime=0))
        self._put(f"{_PART}{number:05}.csv.gz", _csv_part(lines, metric))

    def drop_parts_after(self, number: int) -> None:
        """Delete the parts that an earlier try left behind the last one."""
        for key in list(self._keys(_PART, f"{self.prefix}{_PART}{number:05}~")):
            self.clock.retry(self.results.delete, key)

    def lines(self, parts: int) -> Iterator["Line"]:
        """The lines of the first parts, in order. A part that is missing has none."""
        for number in range(1, parts + 1):
            content = self._content(_part(number))
            for line in gzip.decompress(content).splitlines() if content is not None else ():
                rank, _, rest = line.partition(b",")
                yield Line(int(rank[len(b'{"rank":') :]), rest)

    def sent(self) -> set[str]:
        """The ids of the events that were put."""
        contents = (self.clock.retry(self.results.content, key) for key in self._keys(_SENT))
        return {sent for content in contents for sent in orjson.loads(content or b"[]")}

    def add_sent(self, ids: list[str]) -> None:
        """Store the ids of events that were put."""
        number = sum(1 for _ in self._keys(_SENT)) + 1
        self.put(f"{_SENT}{number:05}.json", ids)

    def _content(self, name: str) -> bytes | None:
        return self.clock.retry(self.results.content, self.prefix + name)

    def _put(self, name: str, content: bytes, *, is_new: bool = False) -> None:
        self.clock.retry(self.results.put, self.prefix + name, content, is_new=is_new)

    def _keys(self, beginning: str, after: str = "") -> Iterator[str]:
        return keys_of(self.results, self.clock, self.prefix + beginning, after)


def mentions(results: ResultsBucket, clock: Clock, board: str, member: str, after: str) -> Iterator[tuple[str, bool]]:
    """Each file of JSON lines of a board, and whether it holds the member: `("results/berlin-2026/…", False)`.

    Only files whose keys sort after `after` are read: all of them, since lines are in the order of ranks. May raise
    StoreUnavailableError.
    """
    prefix = board_prefix(board)
    line = b'"member":' + orjson.dumps(member) + b","
    for key in keys_of(results, clock, prefix, after if after.startswith(prefix) else ""):
        if key.endswith(_JSON_PART):
            content = clock.retry(results.content, key)
            yield key, content is not None and line in gzip.decompress(content)


def keys_of(results: ResultsBucket, clock: Clock, prefix: str, after: str) -> Iterator[str]:
    """All keys that begin with a prefix and sort after `after`, in order. May raise StoreUnavailableError."""
    return (stored.key for stored in results.following(clock.retry, prefix, after))


def names_of(ranking: Ranking) -> dict[str, str]:
    """A ranking by names: `{"board": "b", "metric": "points", "window": "day", "period": "2026-11-16"}`."""
    metric, window = ranking.metric, ranking.window
    label = label_of(metric.timetable, window, ranking.period)
    return {"board": ranking.board, "metric": metric.name, "window": window.name, "period": label}


def board_prefix(board: str) -> str:
    """The prefix of the keys of a board's files: `results/berlin-2026/`."""
    return f"results/{board}/"


class Line(NamedTuple):
    """A line of a file, a rank and the JSON of member and score behind it: `Line(1, b'"member":"u1","score":300}')`."""

    rank: int
    rest: bytes

    @property
    def content(self) -> bytes:
        """The line, `{"rank":1,"member":"u1","score":300}`, with its line feed."""
        return b'{"rank":%d,%s\n' % (self.rank, self.rest)

    @property
    def member(self) -> str:
        """The member."""
        return str(orjson.loads(b"{" + self.rest)["member"])

    @property
    def numbers(self) -> tuple[bytes, bytes]:
        """The score and the tie-breaks (empty without any) as JSON, with all decimals: `(b"8", b'{"penalty":312}')`."""
        score, _, tie_breaks = self.rest[self.rest.index(_SCORE) + len(_SCORE) : -1].partition(_TIE_BREAKS)
        return score, tie_breaks

    @property
    def row(self) -> list[str]:
        """The line as a row of CSV, with its tie-breaks: `["1", "u1", "8", "312"]`."""
        score, tie_breaks = self.numbers
        ties = (b"" if value == b"null" else value for value in _VALUES.findall(tie_breaks))
        return [str(self.rank), self.member, *(number.decode() for number in (score, *ties))]


_SCORE: Final = b',"score":'  # In a member's id, JSON has a backslash before each quote
_TIE_BREAKS: Final = b',"tie_breaks":'
_VALUES: Final = re.compile(rb":([^,}]+)")


def rest_of(member: str, values: SortValues, metric: Metric) -> bytes:
    """A line behind its rank: `"member":"u1","score":300}`."""
    return orjson.dumps({"member": member, **scored(values, metric)})[1:]


_MODULUS: Final = 2**256


class Checksum:
    """The sum of the digests of lines without their ranks, and the number of lines. Their order does not matter.

    `Checksum(str(sum), sum.members)` goes on where another one was.
    """

    def __init__(self, text: str = "0", members: int = 0) -> None:
        self._sum = int(text, 16)
        self.members = members

    def add(self, rest: bytes) -> None:
        """Add a line."""
        self._sum = (self._sum + int.from_bytes(sha256(rest).digest(), "big")) % _MODULUS
        self.members += 1

    def __str__(self) -> str:
        """The sum in hexadecimal digits."""
        return f"{self._sum:x}"


_LEVEL: Final = 6  # Of compression. With `mtime` 0, the same lines are always the same bytes.


def _csv_part(lines: Sequence[Line], metric: Metric) -> bytes:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    # The module quotes a line feed, but not a carriage return, at which other readers end the row.
    quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    table.writerow(("rank", "member", "score", *(column_of(each.name) for each in metric.tie_breaks)))
    for line in lines:
        (quoted if "\r" in line.member else table).writerow(line.row)
    return gzip.compress(text.getvalue().encode(), _LEVEL, mtime=0)


def _part(number: int) -> str:
    return f"{_PART}{number:05}{_JSON_PART}"


def _as_json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
