"""Settles what is due, boards in turn, for a schedule.

Due is each final period of a window that the family settles, as long as it can be read whole and not all of its events
were put. A run begins where the last one ended, and ends with its time or the last board. A board where two runs in a
row failed is left out until the next turn.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from standings.domain.boards.definitions import Family, Ranking
from standings.domain.members.open_rankings import open_rankings
from standings.domain.windows.endings import final_at, label_of
from standings.maintain.settle.files import ALL_SENT, board_prefix, keys_of
from standings.maintain.settle.lease import SettleRecord
from standings.maintain.settle.settlement import RESERVE_S
from standings.maintain.settle.settlements import Place, Settlements
from standings.runtime.retry import READ_TIMEOUT_S, retrying, with_retry

MAX_TRIES: Final = 2  # Runs that fail at a board in a row before it is left out until the next turn


@dataclass(frozen=True)
class ScheduledSettlements:
    """Runs of the schedule. `failed` is told of a board where a run failed, and how often in a row."""

    settlements: Settlements
    failed: Callable[[str, int], None]

    def go_on(self, deadline: float) -> dict[str, Any]:
        """Do one run. `rankings` tells of each that was settled or why not; `done` says that all boards were looked at.

        `running` says that another call is at work: then this one has done nothing.
        """
        place = self.settlements.open_place
        record = self.settlements.lease.take(deadline, scheduled=True)
        if record is None:
            return {"done": False, "running": True, "board": None, "rankings": []}
        run = _Run(self, place, deadline, record)
        done = run.settle()
        return {"done": done, "running": False, "board": run.record.board, "rankings": run.told}


class _Run:
    """One run. `record` is as it is stored."""

    def __init__(self, schedule: ScheduledSettlements, place: Place, deadline: float, record: SettleRecord) -> None:
        self._schedule = schedule
        self._settlements = schedule.settlements
        self._place = place
        self._deadline = deadline
        self.record = record
        self.told: list[dict[str, Any]] = []

    def settle(self) -> bool:
        """Settle boards until the run or the turn is over. Returns whether the turn is."""
        board, at = self.record.board, self.record.at
        if board is None or self.record.tries >= MAX_TRIES:
            if board is not None:
                self._schedule.failed(board, self.record.tries)
            board, at = self._next(board), None
        while board is not None:
            # The next run must know where this one was, however it ends.
            if board != self.record.board and not self._store(board, None):
                return False
            at = self._settled(board, at)
            board = self._next(board) if at is None else board
            if board is not None and (at is not None or self._is_over()):
                self._end(board, at)
                return False
        self._end(None, None)
        return True

    def _settled(self, board: str, at: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Settle what is due of a board: where to go on, None when nothing is left. An error is stored and raised."""
        try:
            for ranking in self._due(board, at["ranking"] if at is not None else ""):
                key = ranking.ranking_code
                here = at["at"] if at is not None and at["ranking"] == key else None
                report, after = self._settlements.settle_ranking(
                    self._place, ranking, here, self._deadline, again=False
                )
                self.told.append(report)
                if after is not None:
                    return {"ranking": key, "at": after}
                if self._is_over():
                    return {"ranking": "", "at": None}
        except Exception:
            tries = self.record.tries + 1
            self._schedule.failed(board, tries)
            self._end(board, at, tries)
            raise
        return None

    def _due(self, board: str, first: str) -> Iterator[Ranking]:
        """The rankings of a board that are due: the one with the code `first`, then the earliest periods."""
        family = self._settlements.catalog.boards.family(board)
        if family is None or not family.endings.settle:
            return
        due = list(self._final(family, board))
        done = self._done(board, due)
        timetable = family.timetable
        due.sort(key=lambda one: (one.ranking_code != first, timetable.bounds(one.window, one.period)))
        for ranking in due:
            if self._path(ranking) not in done:
                yield ranking

    def _final(self, family: Family, board: str) -> Iterator[Ranking]:
        """The rankings that are final, and that the board can still be read whole for.

        What was final before the board's first event has nobody.
        """
        now = self._settlements.clock.now()
        backoff = self._settlements.clock.backoff_for(READ_TIMEOUT_S)
        record = with_retry(lambda: self._settlements.catalog.current(board), backoff)
        if record is None or record.deleted:
            return
        for ranking in open_rankings(family, board, now):
            if ranking.window.name not in family.endings.settle:
                continue
            until = record.coverage.readable_until(ranking)
            is_whole = record.coverage.holds(ranking) and (until is None or now < until)
            final = final_at(ranking.metric.timetable, ranking.window, ranking.period)
            if is_whole and final is not None and record.begun < final <= now:
                yield ranking

    def _done(self, board: str, due: list[Ranking]) -> set[str]:
        """The paths of those rankings of a board whose events were all put. It lists no files of earlier periods."""
        results = retrying(self._place.results, lambda: self._settlements.clock.backoff_for(READ_TIMEOUT_S))
        earliest: dict[str, str] = {}
        for ranking in due:
            window, _, label = self._path(ranking).rpartition("/")
            earliest[window] = min(label, earliest.get(window, label))
        return {
            key.removeprefix(board_prefix(board)).removesuffix(f"/{ALL_SENT}")
            for window, label in earliest.items()
            for key in keys_of(results, f"{board_prefix(board)}{window}/", f"{board_prefix(board)}{window}/{label}")
            if key.endswith(f"/{ALL_SENT}")
        }

    @staticmethod
    def _path(ranking: Ranking) -> str:
        label = label_of(ranking.metric.timetable, ranking.window, ranking.period)
        return f"{ranking.metric.name}/{ranking.window.name}/{label}"

    def _next(self, board: str | None) -> str | None:
        """The board after a name, None after the last one."""
        names = self._settlements.catalog.records.names
        found = with_retry(lambda: names(board, 1), self._settlements.clock.backoff(self._deadline))
        return found[0] if found else None

    def _is_over(self) -> bool:
        return self._settlements.clock.monotonic() >= self._deadline - RESERVE_S

    def _store(self, board: str, at: Mapping[str, Any] | None) -> bool:
        """Store where the run is. False if another call has taken over."""
        stored = self._settlements.lease.put(replace(self.record, board=board, at=at, tries=0), self._deadline)
        self.record = stored or self.record
        return stored is not None

    def _end(self, board: str | None, at: Mapping[str, Any] | None, tries: int = 0) -> None:
        """Store where the next run begins, and end the lease."""
        self.record = replace(self.record, board=board, at=at, tries=tries)
        self._settlements.lease.end(self.record, self._deadline)
