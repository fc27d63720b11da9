"""What a process knows of boards: which generations of their rankings there are, and for what these are whole."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from standings.domain.boards.coverage import coverage_of
from standings.domain.boards.definitions import Boards, Family
from standings.ports.board_records import BoardRecord, BoardRecords
from standings.ports.errors import StoreUnavailableError
from standings.runtime.retry import Clock
from standings.runtime.ttl_cache import BOARD_TTL_S, TtlCache

DELETE: Final = "delete"
"""The task of a job that removes a board and all its members."""
MAX_ATTEMPT_S: Final = 60
"""Seconds for which a function may go by a board's record once it has it. No timeout in `template.yaml` is longer, but
that of the maintenance function, whose replays end by themselves."""
_TRIES: Final = 8


class BoardCatalog:
    """The records of boards, as a process knows them that writes: it sees to it that none says more than it keeps up.

    A definition leaves out what it does not know. So whoever is at work on a board takes off its coverage first what
    another definition has put there: during a deployment, and ever after.
    """

    def __init__(self, boards: Boards, records: BoardRecords, pacing: Clock) -> None:
        self.boards = boards
        self.records = records
        self._pacing = pacing
        self._known: TtlCache[str, BoardRecord] = TtlCache(pacing, BOARD_TTL_S)

    def written(self, names: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """The generations of each board's rankings that are to be written; StoreUnavailableError for not now."""
        names = set(names)
        known = self._refreshed(names, register=False)
        return {name: known[name].written if name in known else (0,) for name in names}

    def current(self, name: str) -> BoardRecord | None:
        """The record of a board as of now; None where it has none. StoreUnavailableError for not now."""
        self._known.forget(name)
        return self._refreshed({name}, register=False).get(name)

    def register(self, names: Iterable[str]) -> None:
        """Put boards on the list before their first event; StoreUnavailableError for not now."""
        self._refreshed(set(names), register=True)

    def _refreshed(self, names: set[str], *, register: bool) -> dict[str, BoardRecord]:
        """The records of boards, each no older than its lifetime, after they were made to say the truth."""
        known = {name: record for name in names if (record := self._known.get(name)) is not None}
        missing = names - known.keys()
        for _ in range(_TRIES):
            if not missing:
                return known
            read_at = self._known.instant()
            found = self.records.records(sorted(missing))
            for name in sorted(missing):
                record = self._settled(name, found.get(name), register=register)
                if record is None and (register or name in found):
                    continue  # somebody else was faster: look again
                missing.discard(name)
                if record is not None:
                    known[name] = record
                    # Of a board that is gone, or going, the next event is to be seen.
                    if not record.deleted and (record.job is None or record.job.task != DELETE):
                        self._known.put(name, record, read_at)
        raise StoreUnavailableError(f"the records of {len(missing)} boards are written by others all the while")

    def _settled(self, name: str, found: BoardRecord | None, *, register: bool) -> BoardRecord | None:
        """A record as this process may go by it, written where it said otherwise; None where that did not succeed."""
        family = self.boards.family(name)
        if family is None:
            raise ValueError(f"no family in boards.toml matches {name!r}")
        if found is None:
            if not register:
                return None
            record = BoardRecord(name, 1, self._pacing.now(), coverage_of(family), family.rankings())
            return record if self.records.put(record, None) else None
        record = self._registered(family, found) if register else found
        record = _within(family, record)
        if record == found:
            return found
        record = replace(record, version=found.version + 1)
        return record if self.records.put(record, found.version) else None

    def _registered(self, family: Family, record: BoardRecord) -> BoardRecord:
        """The record of a board that has events: one that was deleted begins again."""
        if record.job is not None and record.job.task == DELETE:
            return replace(record, again=True)
        if record.deleted:
            return replace(record, deleted=False, coverage=coverage_of(family), begun=self._pacing.now())
        return record


def _within(family: Family, record: BoardRecord) -> BoardRecord:
    job, mine = record.job, coverage_of(family)
    return replace(
        record,
        coverage=record.coverage.within(mine),
        codes=record.codes | mine.rankings,
        job=None if job is None else job._replace(coverage=job.coverage.within(mine)),
    )
