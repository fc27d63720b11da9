"""Settles periods of boards, on request and on a schedule, and lists what was settled."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from standings.aws.eventbridge import EventBus
from standings.aws.s3 import ResultsBucket
from standings.catalog import BoardCatalog
from standings.domain.boards import Family, Metric, Ranking, family_of
from standings.domain.coverage import BoardRecord
from standings.domain.errors import bad_argument
from standings.domain.members import calendar_rankings, open_rankings, settled_code
from standings.domain.windows import DAY, NO_SEASON, Window, final_at, instant, state_of
from standings.maintain import settlement
from standings.maintain.audit import GRACE, is_read
from standings.maintain.settled_files import ALL_SENT, ATTEMPT, EMPTY, SUMMARY, Files, board_prefix, keys_of, names_of
from standings.maintain.turns import Lease, Position, Run
from standings.rankings.findings import AuditReads, Findings
from standings.runtime.clock import Clock
from standings.stores import StoreUnavailableError

MAX_LISTED: Final = 100  # Settlements that one answer lists
NAMED: Final = 10  # Winners of a prize that an answer names
WAIT_S: Final = 5.0  # Seconds after which a call that found another one at work is worth repeating


@dataclass(frozen=True)
class Settlements:
    """Settles rankings one after the other. `results` has their files; summaries and events name the `stack`.

    A `deadline` is in seconds of the monotonic clock. Methods may raise StoreUnavailableError.
    """

    catalog: BoardCatalog
    reads: AuditReads
    lease: Lease[Position]
    clock: Clock
    bus: EventBus
    results: ResultsBucket
    stack: str

    def settle(
        self,
        deadline: float,
        *,
        board: str,
        window: str = "",
        metric: str | None = None,
        period: str | None = None,
        again: bool = False,
        empty: bool = False,
        cursor: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Settle a period (None: the latest that is final) in a window, for one metric or all that rank there.

        A period in which nobody is ranked, of a board that has members, is settled only with `empty`: its `why` is told
        with `"empty": True`.

        To be called again with the `cursor` of the answer until `done`. `rankings` has each that was settled, or why
        not (`why`). Each that is settled names the first `winners` of its prizes, and whether it was settled `before`.
        `running` says that another call is at work: `wait` is in how many seconds to repeat this one.
        Of a board that has ended, events that were not put are put. ValueError: the board has had no event.
        NotFoundError: no such board. InvalidArgumentError: no such window, metric or period of it.
        """
        family = family_of(self.catalog.boards, board)
        if cursor is None and self.clock.retry(self.catalog.current, board) is None:
            earlier = f"`standings results {board}` has what was settled of an earlier board of this name, if any"
            raise ValueError(f"board {board!r} has had no event; {earlier}")
        ranked = _ranked(family, window, metric)
        position = self.lease.take(deadline, scheduled=False)
        if position is None:
            return {"done": False, "cursor": cursor, "running": True, "wait": WAIT_S, "rankings": []}
        try:
            attempt = self._attempt(position, deadline)._replace(seals_empty=empty, again=again)
            at = cursor or {"metric": ranked[0][0].name, "period": period, "at": None}
            return self._settle_ranked(attempt, board, ranked, at)
        finally:
            self.lease.end(position, deadline)

    def settle_due(self, deadline: float) -> dict[str, Any]:
        """Do one run of the schedule. `rankings` has each ranking that was settled, or why not.

        `left` names the periods that this run leaves unsealed: nobody is ranked there though the board has members.
        `done` says that all boards were looked at, `running` that another call is at work: then this one has done
        nothing.
        """
        position = self.lease.take(deadline, scheduled=True)
        if position is None:
            return {"done": False, "running": True, "board": None, "rankings": [], "left": []}
        attempt, told, left = self._attempt(position, deadline), list[Any](), list[Any]()

        def is_over() -> bool:
            return self.clock.monotonic() >= deadline - settlement.RESERVE_S

        def visit(board: str, at: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
            at = at or {"ranking": "", "at": None}
            for ranking in self._due(board, at["ranking"]):
                key = ranking.ranking_code
                report, after = self._settle_ranking(attempt, ranking, at["at"] if key == at["ranking"] else None)
                if report.get("empty"):
                    # Later runs see this file, so that they need not audit the period again.
                    self._files_of(ranking).put(EMPTY, {})
                    left.append(names_of(ranking))
                else:
                    told.append(report)
                if after is not None:
                    return {"ranking": key, "at": after}
                if is_over():
                    return {"ranking": "", "at": None}
            return None

        run = Run(self.lease, position, deadline, self.catalog, visit, is_over)
        done = run.run()
        return {"done": done, "running": False, "board": run.position.board, "rankings": told, "left": left}

    def settled(self, deadline: float, *, board: str, cursor: str | None = None) -> dict[str, Any]:
        """The summaries of what was settled of a board, in order of metric, window and period, after a cursor.

        Returns `{"done": True, "cursor": None, "bucket": "…", "results": [{"prefix": "results/berlin-2026/…", …}]}`.
        If the board's record does not say yet what is settled, it does from now on. Raises ValueError if there are none
        because the board has had no event.
        """
        if not cursor:
            self._note(board, deadline)
        found: list[Any] = []
        for key in keys_of(self.results, self.clock, board_prefix(board), cursor or ""):
            if key.endswith(f"/{SUMMARY}"):
                files = Files(self.results, key.removesuffix(SUMMARY), self.clock)
                if (summary := files.document(SUMMARY)) is not None:
                    winners = settlement.winners_of(files, summary, NAMED)
                    found.append({**summary, "prefix": files.prefix, "winners": winners})
            if len(found) == MAX_LISTED:
                return {"done": False, "cursor": key, "bucket": self.results.name, "results": found}
        if not found and cursor is None:
            self.clock.retry(self.catalog.known, board)
        return {"done": True, "cursor": None, "bucket": self.results.name, "results": found}

    def _attempt(self, position: Position, deadline: float) -> settlement.Attempt:
        """The attempt of a call that began now, and with this position has the lease."""
        return settlement.Attempt(f"{self.clock.now()}-{position.version}", self.bus, self.stack, deadline)

    def _settle_ranked(
        self, attempt: settlement.Attempt, board: str, ranked: Sequence[tuple[Metric, Window]], at: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Settle the rankings of metrics one after the other, from `{"metric": "points", "period": …, "at": …}` on."""
        told, after = list[dict[str, Any]](), at["at"]
        names = [metric.name for metric, _ in ranked]
        for metric, window in ranked[names.index(at["metric"]) :]:
            ranking = self._ranking(board, metric, window, at["period"])
            report, after = self._settle_ranking(attempt, ranking, after)
            if (summary := report["summary"]) is not None:
                files = Files(self.results, report["prefix"], self.clock)
                report["winners"] = settlement.winners_of(files, summary, NAMED)
            told.append(report)
            if after is not None:
                cursor = {"metric": metric.name, "period": report["period"], "at": after}
                return {"done": False, "cursor": cursor, "running": False, "rankings": told}
        return {"done": True, "cursor": None, "running": False, "rankings": told}

    def _ranking(self, board: str, metric: Metric, window: Window, period: str | None) -> Ranking:
        """The ranking of a period; without one, of the latest that is final."""
        family = family_of(self.catalog.boards, board)
        timetable, now = metric.timetable, self.clock.now()
        current = Ranking(board, metric, window, timetable.current(window, now))
        if period is not None:
            return current._replace(period=timetable.parse_period(window, period))
        rankings = (one for one in open_rankings(family, board, now) if one.metric is metric and one.window is window)
        final = (each for each in rankings if state_of(timetable, window, each.period, now) == "final")
        found = next(final, current)
        if window.unit == "s" and found.period == NO_SEASON:
            raise bad_argument("window", f"board {board!r} has had no season yet: settle one when it is over")
        return found

    def _settle_ranking(
        self, attempt: settlement.Attempt, ranking: Ranking, at: Mapping[str, Any] | None
    ) -> tuple[dict[str, Any], Mapping[str, Any] | None]:
        """Settle one ranking from a cursor on: its report, and the next cursor (None: there is no more)."""
        files = self._files_of(ranking)
        about = {**names_of(ranking), "bucket": self.results.name, "prefix": files.prefix}
        findings = Findings(ranking.board, self.reads, self.clock, attempt.deadline, GRACE)
        try:
            is_sealed = at["stage"] == "events" if at else not attempt.again and files.document(SUMMARY) is not None
            before, record = at is None and is_sealed, self._noted(self._record(ranking, files_are_there=is_sealed))
            # A cursor without it is of a version that had no marks.
            at = at if at is None or "marked" in at or is_sealed else None
            is_marked = not is_sealed and self._is_to_mark(attempt, ranking, record, at)
            if is_marked:
                # Before anything is read: each event of history has counted by now, or leaves this period out.
                record = self.clock.retry(self.catalog.settle, ranking.board, {settled_code(ranking)})
            family, at = family_of(self.catalog.boards, ranking.board), {"stage": "events"} if is_sealed else at
            after = settlement.Settlement(findings, family, record, ranking, files, attempt, is_marked).run(at)
        except settlement.NotSettledError as error:
            if error.report is not None and not is_read(self.catalog, self.clock, record):
                error = settlement.NotSettledError("the board was rebuilt or deleted meanwhile: try again")
            report = error.report or {"drift": 0, "found": {}, "examples": []}
            told = {name: report[name] for name in ("drift", "found", "examples")}
            told |= {"empty": True} if error.is_empty else {}
            return {**about, "settled": False, "why": str(error), "summary": None, **told}, None
        stage = None if after is None else after["stage"]
        summary = files.document(SUMMARY) if after is None else None
        settled = {"settled": after is None, "before": before, "stage": stage, "summary": summary}
        return {**about, **settled, "why": None, "drift": 0}, after

    def _files_of(self, ranking: Ranking) -> Files:
        return Files.of(self.results, ranking, self.clock)

    def _note(self, board: str, deadline: float) -> None:
        """Note in a board's record what is settled, if it does not say so. Wait for the lease until the deadline."""
        family = self.catalog.boards.family(board)
        if family is None or not family.endings.settle:
            return
        record = self.clock.retry(self.catalog.current, board)
        if record is None or record.settled is not None:
            return
        backoff = self.clock.backoff(deadline)
        while (position := self.lease.take(deadline, scheduled=False)) is None:
            if not backoff.wait(WAIT_S):
                raise StoreUnavailableError("a settlement of this stack is at work: try again later")
        try:
            self._noted(record)
        finally:
            self.lease.end(position, deadline)

    def _noted(self, record: BoardRecord) -> BoardRecord:
        """The record, with what version 0.3 settled of the board, by the files that are there.

        The caller has the lease, so no run of version 0.3 is at work. Later versions mark a ranking before they settle.
        """
        if record.settled is not None or record.deleted or record.has_ended(self.clock.now()):
            return record
        keys = keys_of(self.results, self.clock, board_prefix(record.board), "")
        begun = {key.rpartition("/")[0] + "/" for key in keys if key.endswith((f"/{SUMMARY}", f"/{ATTEMPT}"))}
        rankings = calendar_rankings(family_of(self.catalog.boards, record.board), record.board, self.clock.now())
        ending = (one for one in rankings if final_at(one.metric.timetable, one.window, one.period) is not None)
        settled = {settled_code(one) for one in ending if self._files_of(one).prefix in begun}
        return self.clock.retry(self.catalog.settle, record.board, settled)

    def _is_to_mark(
        self, attempt: settlement.Attempt, ranking: Ranking, record: BoardRecord, at: Mapping[str, Any] | None
    ) -> bool:
        """Whether history leaves the period out from now on: not one that is empty, which history may still fill."""
        if at is not None:
            return bool(at.get("marked", True))
        is_left = not attempt.seals_empty and settlement.is_empty(self.reads, ranking, record.generation)
        return not (is_left and settlement.has_members(self.reads, ranking.board))

    def _record(self, ranking: Ranking, *, files_are_there: bool) -> BoardRecord:
        """The board's record. NotSettledError if the ranking is not final, or cannot be read whole.

        A period whose files are there is settled, whatever became of ranking and board: only events may be left to put.
        """
        now, final = self.clock.now(), final_at(ranking.metric.timetable, ranking.window, ranking.period)
        if final is None or now < final:
            raise settlement.NotSettledError(f"the period is final at {instant(final)}: settle it then")
        record = self.clock.retry(self.catalog.current, ranking.board)
        is_gone = record is None or record.deleted or record.is_being_deleted or record.has_ended(now)
        if record is None or (is_gone and not files_are_there):
            raise settlement.NotSettledError("there is no such board, or it is being deleted, or it has ended")
        if not files_are_there and (why := _why_not_whole(record, ranking, now)) is not None:
            raise settlement.NotSettledError(why)
        return record

    def _due(self, board: str, first: str) -> list[Ranking]:
        """The rankings of a board that are due: the one with the code `first`, then the earliest periods.

        Due is each final period of a window that the family settles, as long as it can be read whole and not all of its
        events were put; for a day after the board's end, only if it is sealed. One in which nobody is ranked is left as
        it is if the board has members: its history may still come, or somebody settles it. A period that was final
        before the board's first event has no members.
        """
        family, now = self.catalog.boards.family(board), self.clock.now()
        record = self.clock.retry(self.catalog.current, board) if family and family.endings.settle else None
        if family is None or record is None or record.deleted or record.has_ended(now - DAY):
            return []
        record = self._noted(record)
        prefixes: dict[Ranking, str] = {}
        for ranking in open_rankings(family, board, now):
            final = final_at(ranking.metric.timetable, ranking.window, ranking.period)
            is_final = final is not None and record.begun < final <= now
            if is_final and ranking.window.name in family.endings.settle and not _why_not_whole(record, ranking, now):
                prefixes[ranking] = self._files_of(ranking).prefix
        found, bounds = self._found(prefixes.values()), family.timetable.bounds
        due = []
        for ranking in sorted(prefixes, key=lambda one: (one.ranking_code != first, bounds(one.window, one.period))):
            prefix = prefixes[ranking]
            is_left = record.has_ended(now) or (
                prefix + EMPTY in found and settlement.is_empty(self.reads, ranking, record.generation)
            )
            if prefix + ALL_SENT not in found and (prefix + SUMMARY in found or not is_left):
                due.append(ranking)
        return due

    def _found(self, prefixes: Iterable[str]) -> set[str]:
        """The files that tell that a period is sealed, is done, or was left. It lists no files of earlier periods."""
        earliest: dict[str, str] = {}
        for prefix in prefixes:
            window, _, label = prefix.rstrip("/").rpartition("/")
            earliest[window] = min(label, earliest.get(window, label))
        return {
            key
            for window, label in earliest.items()
            for key in keys_of(self.results, self.clock, f"{window}/", f"{window}/{label}")
            if key.endswith((f"/{ALL_SENT}", f"/{SUMMARY}", f"/{EMPTY}"))
        }


def _why_not_whole(record: BoardRecord, ranking: Ranking, now: int) -> str | None:
    """Why a ranking cannot be read whole; None if it can."""
    until = record.coverage.readable_until(ranking)
    if until is not None and now >= until:
        return f"the period could be read until {instant(until)}: nothing is left to settle"
    if not record.coverage.holds(ranking):
        return "the ranking is not built for all of this period: rebuild the board"
    return None


def _ranked(family: Family, window: str, metric: str | None) -> list[tuple[Metric, Window]]:
    """The metrics to settle, each with its window."""
    settle = family.endings.settle
    if window not in settle:
        named = ", ".join(settle) or "none"
        expected = f"expected one that boards.toml settles for this board ({named}), got {window!r}"
        raise bad_argument("window", f"{expected}; `settle` in boards.toml adds one")
    ranked = [(one, found) for one in family.metrics.values() if (found := one.window(window)) is not None]
    chosen = [(one, found) for one, found in ranked if metric in (None, one.name)]
    if not chosen:
        names = ", ".join(one.name for one, _ in ranked)
        raise bad_argument("metric", f"expected one that is ranked in {window!r} ({names}), got {metric!r}")
    return chosen
