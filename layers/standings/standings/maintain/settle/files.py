"""The files of a settled period, under `results/{board}/{metric}/{window}/{period}/`.

`{period}` is the period's first day, such as `2026-11-16`, or the name of a season, such as `winter`. If the files of
an earlier season with that name are there already, it is the name and the first day: `winter-2027-12-01`.

`summary.json` makes a settlement. `sent-00001.json` … hold the ids of events that were put, and `events.json` says that
all were. `attempt.json` names the attempt that began last: older attempts stop when they see its name.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import orjson

from standings.domain.boards.definitions import Ranking
from standings.domain.windows.endings import label_of
from standings.maintain.settle.lines import Line, as_json, csv_part, json_part, read_part
from standings.ports.endings import MAX_KEYS, Results
from standings.read.answer_fields import period
from standings.runtime.retry import READ_TIMEOUT_S, Clock, retrying

RESULTS: Final = "results"
SUMMARY: Final = "summary.json"
ALL_SENT: Final = "events.json"
ATTEMPT: Final = "attempt.json"
_JSON_PART: Final = ".jsonl.gz"
_PART: Final = "standings-"
_SENT: Final = "sent-"


def keys_of(results: Results, prefix: str, after: str = "") -> Iterator[str]:
    """All keys that begin with a prefix and sort after `after`, in order."""
    while True:
        keys = results.keys(prefix, after)
        yield from keys
        if len(keys) < MAX_KEYS:
            return
        after = keys[-1]


def board_prefix(board: str) -> str:
    """What the keys of all files of a board begin with."""
    return f"{RESULTS}/{board}/"


def is_json_part(key: str) -> bool:
    """Whether a file holds JSON lines."""
    return key.endswith(_JSON_PART)


@dataclass(frozen=True)
class Files:
    """The files of one ranking's period. Each request is retried for up to `READ_TIMEOUT_S`.

    `start` and `end` are those of the period, such as `2026-11-16T00:00:00+01:00`.
    """

    results: Results
    prefix: str
    clock: Clock
    start: str
    end: str

    @property
    def _store(self) -> Results:
        return retrying(self.results, lambda: self.clock.backoff_for(READ_TIMEOUT_S))

    def summary(self) -> dict[str, Any] | None:
        """What makes the settlement; None if the period is not settled."""
        content = self._store.content(self.prefix + SUMMARY)
        return None if content is None else orjson.loads(content)

    def settle(self, summary: dict[str, Any]) -> None:
        """Write the summary, unless there is one."""
        self._store.put_new(self.prefix + SUMMARY, as_json(summary))

    def begin(self, attempt: str) -> None:
        """Write down that an attempt begins to write files. From now on, older attempts are outdated."""
        about = {"attempt": attempt, "start": self.start, "end": self.end}
        self._store.put(self.prefix + ATTEMPT, as_json(about))

    def is_outdated(self, attempt: str | None) -> bool:
        """Whether another attempt has begun to write files after this one."""
        content = self._store.content(self.prefix + ATTEMPT)
        return content is None or orjson.loads(content)["attempt"] != attempt

    def are_of_another_period(self) -> bool:
        """Whether the files that are there belong to a period that shares no time with this one."""
        content = self._store.content(self.prefix + ATTEMPT) or self._store.content(self.prefix + SUMMARY)
        if content is None:
            return False
        about = orjson.loads(content)
        start, end, their_start, their_end = (
            datetime.fromisoformat(text) for text in (self.start, self.end, about["start"], about["end"])
        )
        return end <= their_start or their_end <= start

    @property
    def label(self) -> str:
        """What the folder is called: `2026-11-16` or `winter`."""
        return self.prefix.rstrip("/").rpartition("/")[2]

    def reopen(self) -> None:
        """Remove what makes the settlement. The ids of events that were put stay.

        The summary goes last. If the call dies in between, the period is still settled.
        """
        self._store.delete(self.prefix + ALL_SENT)
        self._store.delete(self.prefix + SUMMARY)

    def put_part(self, number: int, lines: list[Line]) -> None:
        """Write some lines, in both formats."""
        self._store.put(self._part(number), json_part(lines))
        self._store.put(f"{self.prefix}{_PART}{number:05}.csv.gz", csv_part(lines))

    def drop_parts_after(self, number: int) -> None:
        """Delete the parts that an earlier try left behind the last one."""
        last = f"{self.prefix}{_PART}{number:05}~"
        for key in list(keys_of(self._store, self.prefix + _PART, last)):
            self._store.delete(key)

    def lines(self, parts: int) -> Iterator[Line]:
        """The lines of the first parts, in order. A part that is missing has none."""
        for number in range(1, parts + 1):
            yield from read_part(self._store.content(self._part(number)) or _EMPTY)

    def sent(self) -> set[str]:
        """The ids of the events that were put."""
        keys = keys_of(self._store, self.prefix + _SENT)
        return {sent for key in keys for sent in orjson.loads(self._store.content(key) or b"[]")}

    def add_sent(self, ids: list[str]) -> None:
        """Remember that events were put."""
        number = sum(1 for _ in keys_of(self._store, self.prefix + _SENT)) + 1
        self._store.put(f"{self.prefix}{_SENT}{number:05}.json", as_json(ids))

    def all_sent(self) -> bool:
        """Whether all events were put."""
        return self._store.content(self.prefix + ALL_SENT) is not None

    def mark_all_sent(self, events: int) -> None:
        """Remember that all events were put: so many."""
        self._store.put(self.prefix + ALL_SENT, as_json({"events": events}))

    def _part(self, number: int) -> str:
        return f"{self.prefix}{_PART}{number:05}{_JSON_PART}"


_EMPTY: Final = json_part([])


def files_of(results: Results, ranking: Ranking, clock: Clock) -> Files:
    """The files of a ranking that has periods."""
    label = label_of(ranking.metric.timetable, ranking.window, ranking.period)
    folder = f"{board_prefix(ranking.board)}{ranking.metric.name}/{ranking.window.name}/"
    about = period(ranking)
    start, end = str(about["start"]), str(about["end"])
    files = Files(results, f"{folder}{label}/", clock, start, end)
    if ranking.window.unit != "s" or not files.are_of_another_period():
        return files
    return replace(files, prefix=f"{folder}{label}-{start[:10]}/")
