"""The boards' records, as a process that writes uses them."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from standings.aws.dynamodb.scores import BoardRecords
from standings.domain.boards import Boards, Family, family_of
from standings.domain.coverage import BOARD_TTL_S, BoardRecord, coverage_of, written_codes
from standings.domain.members import is_kept
from standings.domain.windows import MINUTE, instant
from standings.runtime.clock import Clock, TtlCache
from standings.stores import StoreUnavailableError

_TRIES: Final = 8


class BoardCatalog:
    """Caches boards' records, and limits their coverage to the rankings that this process maintains.

    A process maintains only the rankings of its own definition. So before it writes to a board, it removes all others
    from the coverage in the board's record. Every method may raise StoreUnavailableError.
    """

    def __init__(self, boards: Boards, records: BoardRecords, clock: Clock) -> None:
        self.boards = boards
        self.records = records
        self._clock = clock
        self._cache: TtlCache[str, BoardRecord] = TtlCache(clock, BOARD_TTL_S)

    def written(self, names: Iterable[str], *, register: bool = False) -> dict[str, BoardRecord]:
        """The records of boards by name: `{"berlin-2026": BoardRecord(…)}`. They say which rankings must be written.

        A board without a record is left out: nothing of it has been built, so its rankings are of generation 0. With
        `register`, each of the boards has a new event. Raises ValueError for a board that no family matches.
        """
        names, now = set(names), self._clock.now()
        # Of a board that has ended, another life may have begun since.
        cached = {name: record for name in names if (record := self._cache.get(name)) is not None}
        records = {name: record for name, record in cached.items() if not record.has_ended(now)}
        missing = names - records.keys()
        for _ in range(_TRIES):
            if not missing:
                return records
            read_at = self._cache.instant()
            stored = self.records.records(sorted(missing))
            for name in sorted(missing):
                before = stored.get(name)
                after = self._updated(name, before, register=register)
                if after is not None:
                    if after != before and not self.records.put(after, before):
                        continue  # another process has written the record: read it again
                    records[name] = after
                    self._cache.put(name, after, read_at)
                missing.discard(name)
        raise StoreUnavailableError(f"other processes keep writing the records of {len(missing)} boards")

    def _updated(self, name: str, stored: BoardRecord | None, *, register: bool) -> BoardRecord | None:
        """The record as it must be before this process uses it; None if there is none.

        With `register` the board has a new event: then a deleted board begins again.
        """
        family, now = self.boards.family(name), self._clock.now()
        if family is None:
            raise ValueError(f"no family in boards.toml matches {name!r}")
        mine, codes = coverage_of(family, now), written_codes(family)
        if stored is None or stored.is_gone(now):
            return _new_record(name, family, stored, now) if register else None
        if stored.has_ended(now):
            return stored
        record = stored
        if register and stored.deleted:
            record = _beginning(replace(stored, deleted=False), family, now)
        elif register:
            record = replace(stored, coverage=stored.coverage.after_event_by(family))
        job = record.job and record.job._replace(coverage=record.job.coverage.intersect(mine))
        record = replace(record, coverage=record.coverage.intersect(mine), codes=record.codes | codes, job=job)
        return record if record == stored else replace(record, version=stored.version + 1)

    def current(self, name: str) -> BoardRecord | None:
        """Read a board's record, without the cache; None if it has none."""
        self._cache.forget(name)
        return self.written([name]).get(name)

    def known(self, name: str) -> BoardRecord:
        """Read a board's record, without the cache; ValueError if the board has had no event, or has ended."""
        record = self.current(name)
        if record is None:
            raise ValueError(f"board {name!r} has had no event")
        if record.has_ended(self._clock.now()):
            raise ValueError(f"board {name!r} ended at {instant(record.ends)}: nothing of it can be read")
        return record

    def settle(self, board: str, codes: Collection[str]) -> BoardRecord:
        """Mark rankings as settled, by their codes. From then on the record also says that no others are.

        A ranking is marked before anybody reads what is to be sealed: history counts in it no longer. Raises ValueError
        if the board has had no event.
        """
        family = family_of(self.boards, board)
        for _ in range(_TRIES):
            record = self.known(board)
            if record.settled is not None and record.settled.issuperset(codes):
                return record
            now = self._clock.now()
            kept = frozenset(one for one in record.settled or () if is_kept(family, one, now))
            after = replace(record, version=record.version + 1, settled=kept.union(codes))
            if self.records.put(after, record):
                self._cache.forget(board)
                return after
        raise StoreUnavailableError(f"other processes keep writing the record of {board!r}")

    def next_board(self, after: str | None) -> str | None:
        """The next board after a name (None: the first one) that a family matches; None after the last one."""
        while names := self.records.names(after, 1):
            (after,) = names
            if self.boards.family(after) is not None:
                return after
        return None

    def register(self, names: Iterable[str]) -> dict[str, BoardRecord]:
        """Create the records of boards before their first event. Returns the records by name, read without the cache.

        So a function that starts after a deletion sees it. The deletion waits for those that started before.
        """
        names = set(names)
        for name in names:
            self._cache.forget(name)
        return self.written(names, register=True)


def _new_record(name: str, family: Family, before: BoardRecord | None, now: int) -> BoardRecord:
    """The record of a board that begins; `before` is what is left of an earlier board of that name.

    DynamoDB deletes what is left of a board that has ended, in any order, maybe its record first. So where boards end,
    a new one has a generation by the clock: no earlier one had it, since each rebuild takes longer than a minute.
    """
    version, generation = 1, 0 if before is None and family.expires is None else now // MINUTE
    if before is not None:
        version, generation = before.version + 1, max(before.latest + 1, generation)
    mine, codes = coverage_of(family, now), written_codes(family)
    record = BoardRecord(name, version, now, mine, codes, generation, written=(generation,), latest=generation)
    return _beginning(record, family, now)


def _beginning(record: BoardRecord, family: Family, now: int) -> BoardRecord:
    """The record of a board that begins now: nothing is settled. A board that settles nothing says nothing of it."""
    settled = frozenset[str]() if family.endings.settle else None
    ends = None if family.expires is None else now + family.expires
    return replace(record, begun=now, coverage=coverage_of(family, now), settled=settled, ends=ends)
