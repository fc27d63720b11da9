"""Settles what is due, boards in turn, for a schedule.

Due is each final period of a window that the family settles, as long as it can be read whole and not all of its events
were put. A run ends with its time or the last board.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from standings.domain.boards.definitions import Family, Ranking
from standings.domain.members.open_rankings import open_rankings
from standings.domain.windows.endings import final_at
from standings.maintain.settle.files import ALL_SENT, board_prefix, files_of, keys_of
from standings.maintain.settle.settlement import RESERVE_S
from standings.maintain.settle.settlements import Place, Settlements
from standings.maintain.turns.lease import Position
from standings.maintain.turns.turn import Run
from standings.runtime.retry import READ_TIMEOUT_S, retrying, with_retry


@dataclass(frozen=True)
class ScheduledSettlements:
    """Runs of the schedule."""

    settlements: Settlements

    def go_on(self, deadline: float) -> dict[str, Any]:
        """Do one run. `rankings` tells of each that was settled or why not; `done` says that all boards were looked at.

        `running` says that another call is at work: then this one has done nothing.
        """
        settlements = self.settlements
        place = settlements.open_place
        position = settlements.lease.take(deadline, scheduled=True)
        if position is None:
            return {"done": False, "running": True, "board": None, "rankings": []}
        visits = _Visits(settlements, place, deadline, settlements.attempt(position))
        run = Run(settlements.lease, position, deadline, visits, settlements.catalog.next_board)
        done = run.go()
        return {"done": done, "running": False, "board": run.position.board, "rankings": visits.told}


class _Visits:
    """The settlements of one run."""

    def __init__(self, settlements: Settlements, place: Place, deadline: float, attempt: str) -> None:
        self._settlements = settlements
        self._place = place
        self._deadline = deadline
        self._attempt = attempt
        self.told: list[dict[str, Any]] = []

    def visit(self, board: str, at: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        for ranking in self._due(board, at["ranking"] if at is not None else ""):
            key = ranking.ranking_code
            here = at["at"] if at is not None and at["ranking"] == key else None
            report, after = self._settlements.settle_ranking(
                self._place, ranking, here, self._deadline, self._attempt, again=False
            )
            self.told.append(report)
            if after is not None:
                return {"ranking": key, "at": after}
            if self.is_over():
                return {"ranking": "", "at": None}
        return None

    def is_over(self) -> bool:
        return self._settlements.clock.monotonic() >= self._deadline - RESERVE_S

    def leave_out(self, board: str) -> None:
        """Nothing to do: the failed runs were told of."""

    def noted(self, position: Position) -> Position:
        return position

    def _due(self, board: str, first: str) -> Iterator[Ranking]:
        """The rankings of a board that are due: the one with the code `first`, then the earliest periods."""
        family = self._settlements.catalog.boards.family(board)
        if family is None or not family.endings.settle:
            return
        due = {ranking: self._path(ranking) for ranking in self._final(family, board)}
        done = self._done(board, due.values())
        timetable = family.timetable
        for ranking in sorted(
            due, key=lambda one: (one.ranking_code != first, timetable.bounds(one.window, one.period))
        ):
            if due[ranking] not in done:
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

    def _done(self, board: str, paths: Iterable[str]) -> set[str]:
        """The paths of those rankings of a board whose events were all put. It lists no files of earlier periods."""
        results = retrying(self._place.results, lambda: self._settlements.clock.backoff_for(READ_TIMEOUT_S))
        earliest: dict[str, str] = {}
        for path in paths:
            window, _, label = path.rpartition("/")
            earliest[window] = min(label, earliest.get(window, label))
        return {
            key.removeprefix(board_prefix(board)).removesuffix(f"/{ALL_SENT}")
            for window, label in earliest.items()
            for key in keys_of(results, f"{board_prefix(board)}{window}/", f"{board_prefix(board)}{window}/{label}")
            if key.endswith(f"/{ALL_SENT}")
        }

    def _path(self, ranking: Ranking) -> str:
        """Where the files of a ranking are, below the board's folder."""
        files = files_of(self._place.results, ranking, self._settlements.clock)
        return files.prefix.removeprefix(board_prefix(ranking.board)).rstrip("/")
