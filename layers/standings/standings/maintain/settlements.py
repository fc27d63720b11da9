"""Settles periods of boards, on request and on a schedule, and lists what was settled."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import orjson

from standings.aws.eventbridge import EventBus
from standings.aws.s3 import ResultsBucket
from standings.catalog import BoardCatalog
from standings.domain.boards import Family, Metric, Ranking, family_of
from standings.domain.coverage import BoardRecord
from standings.domain.errors import bad_argument
from standings.domain.members import calendar_rankings, open_rankings, settled_code
from standings.domain.windows import DAY, NO_SEASON, final_at, instant, label_of, state_of
from standings.maintain.audit import GRACE, is_read
from standings.maintain.settled_files import ALL_SENT, ATTEMPT, EMPTY, SUMMARY, Files, board_prefix, keys_of
from standings.maintain.settlement import (
    RESERVE_S,
    EmptyPeriodError,
    NotSettledError,
    Settlement,
    has_members,
    is_empty,
    winners_of,
)
from standings.maintain.turns import Lease, Position, Run, drive
from standings.rankings.audit_reads import AuditReads
from standings.rankings.findings import Findings
from standings.runtime.clock import Clock
from standings.stores import StoreUnavailableError

MAX_LISTED: Final = 100  # Settlements that one answer lists
NAMED: Final = 10  # Winners of a prize that an answer names
WAIT_S: Final = 5.0  # Seconds after which a call that found another one at work is worth repeating


class Destination(NamedTuple):
    """Where settlements go: their files and events, and the stack that both name."""

    results: ResultsBucket
    bus: EventBus
    stack: str


@dataclass(frozen=True)
class Settlements:
    """Settles rankings one after the other. `destination` is None on a stack that settles nothing.

    A `deadline` is in seconds of the monotonic clock. Methods may raise StoreUnavailableError; and all but `show` raise
    ValueError on a stack that settles nothing.
    """

    catalog: BoardCatalog
    reads: AuditReads
    lease: Lease[Position]
    clock: Clock
    destination: Destination | None

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
        destination, family = self._open_destination(), family_of(self.catalog.boards, board)
        if cursor is None and self.clock.retry(self.catalog.current, board) is None:
            earlier = f"`standings results {board}` has what was settled of an earlier board of this name"
            raise ValueError(f"board {board!r} has had no event; {earlier}")
        metrics = _metrics(family, window, metric)
        record = self.lease.take(deadline, scheduled=False)
        if record is None:
            return {"done": False, "cursor": cursor, "running": True, "wait": WAIT_S, "rankings": []}
        try:
            attempt = self._attempt(record, destination, deadline)._replace(seals_empty=empty)
            at = cursor or {"metric": metrics[0].name, "period": period, "at": None}
            return self._settle_metrics(
                attempt, metrics, partial(self._ranking, family, board, window), at, again=again
            )
        finally:
            self.lease.end(record, deadline)

    def settle_due(self, deadline: float) -> dict[str, Any]:
        """Do one run of the schedule. `rankings` has each ranking that was settled, or why not.

        `left` names the periods that this run leaves unsealed: nobody is ranked there though the board has members.
        `done` says that all boards were looked at, `running` that another call is at work: then this one has done
        nothing.
        """
        destination = self._open_destination()
        position = self.lease.take(deadline, scheduled=True)
        if position is None:
            return {"done": False, "running": True, "board": None, "rankings": [], "left": []}
        run = _Run(self, position, self._attempt(position, destination, deadline))
        done = run.run()
        return {"done": done, "running": False, "board": run.position.board, "rankings": run.told, "left": run.left}

    def show(self, _: float) -> dict[str, Any]:
        """The patterns of the families that settle, and whether this stack does.

        For example `{"done": True, "families": ["league-*"], "settles": True}`.
        """
        families = [family.pattern for family in self.catalog.boards.families if family.endings.settle]
        return {"done": True, "families": families, "settles": self.destination is not None}

    def results(self, deadline: float, *, board: str, cursor: str | None = None) -> dict[str, Any]:
        """The summaries of what was settled of a board, in order of metric, window and period, after a cursor.

        Returns `{"done": True, "cursor": None, "bucket": "…", "results": [{"prefix": "results/berlin-2026/…", …}]}`.
        If the board's record does not say yet what is settled, it does from now on. Raises ValueError if there are none
        because the board has had no event.
        """
        results = self._open_destination().results
        if not cursor:
            self._note(results, board, deadline)
        found: list[Any] = []
        for key in keys_of(results, self.clock, board_prefix(board), cursor or ""):
            if key.endswith(f"/{SUMMARY}"):
                content = self.clock.retry(results.content, key)
                if content is not None:
                    prefix, summary = key.removesuffix(SUMMARY), orjson.loads(content)
                    winners = self._winners(results, prefix, summary)
                    found.append({**summary, "prefix": prefix, "winners": winners})
            if len(found) == MAX_LISTED:
                return {"done": False, "cursor": key, "bucket": results.name, "results": found}
        if not found and cursor is None:
            self.clock.retry(self.catalog.known, board)
        return {"done": True, "cursor": None, "bucket": results.name, "results": found}

    def _open_destination(self) -> Destination:
        if self.destination is None:
            raise ValueError("this stack settles nothing: deploy it with Settlements=true")
        return self.destination

    def _attempt(self, position: Position, destination: Destination, deadline: float) -> "_Attempt":
        """The attempt of a call that began now, and with this position has the lease."""
        return _Attempt(f"{self.clock.now()}-{position.version}", destination, deadline)

    def _settle_metrics(
        self,
        attempt: "_Attempt",
        metrics: Sequence[Metric],
        ranking: Callable[[Metric, str | None], Ranking],
        at: Mapping[str, Any],
        *,
        again: bool,
    ) -> dict[str, Any]:
        """Settle the rankings of metrics one after the other, from `{"metric": "points", "period": …, "at": …}` on."""
        names = [metric.name for metric in metrics]
        told: list[dict[str, Any]] = []

        def step(at: Mapping[str, Any]) -> Mapping[str, Any] | None:
            number = names.index(at["metric"])
            report, after = self._settle_ranking(attempt, ranking(metrics[number], at["period"]), at["at"], again=again)
            if (summary := report["summary"]) is not None:
                report["winners"] = self._winners(attempt.destination.results, report["prefix"], summary)
            told.append(report)
            if after is not None:
                return {"metric": at["metric"], "period": report["period"], "at": after}
            return {**at, "metric": names[number + 1], "at": None} if number + 1 < len(names) else None

        following = drive(step, at, lambda at: at["at"] is not None)
        return {"done": following is None, "cursor": following, "running": False, "rankings": told}

    def _ranking(self, family: Family, board: str, window_name: str, metric: Metric, period: str | None) -> Ranking:
        window = metric.window(window_name)
        if window is None:
            raise bad_argument("window", f"metric {metric.name!r} is not ranked in {window_name!r}")
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
        self, attempt: "_Attempt", ranking: Ranking, at: Mapping[str, Any] | None, *, again: bool = False
    ) -> tuple[dict[str, Any], Mapping[str, Any] | None]:
        """Settle one ranking from a cursor on: its report, and the next cursor (None: there is no more)."""
        results, bus, stack = attempt.destination
        files = Files.of(results, ranking, self.clock)
        about = {
            "board": ranking.board,
            "metric": ranking.metric.name,
            "window": ranking.window.name,
            "period": label_of(ranking.metric.timetable, ranking.window, ranking.period),
            "bucket": results.name,
            "prefix": files.prefix,
        }
        findings = Findings(ranking.board, self.reads, self.clock, attempt.deadline, GRACE)
        try:
            is_sealed = at["stage"] == "events" if at else not again and files.document(SUMMARY) is not None
            record = self._noted(results, self._record(ranking, files_are_there=is_sealed))
            # A cursor without it is of a version that had no marks.
            at = at if at is None or "marked" in at or is_sealed else None
            is_marked = not is_sealed and self._is_to_mark(ranking, record, at, seals_empty=attempt.seals_empty)
            if is_marked:
                # Before anything is read: each event of history has counted by now, or leaves this period out.
                record = self.clock.retry(self.catalog.settle, ranking.board, {settled_code(ranking)})
            family = family_of(self.catalog.boards, ranking.board)
            settlement = Settlement(
                findings, family, record, ranking, files, attempt.name, bus, stack, attempt.seals_empty, is_marked
            )
            after = settlement.run(at, again=again)
        except NotSettledError as error:
            if error.report is not None and not is_read(self.catalog, self.clock, record):
                error = NotSettledError("the board was rebuilt or deleted meanwhile: try again")
            report = error.report or {"drift": 0, "found": {}, "examples": []}
            told = {name: report[name] for name in ("drift", "found", "examples")}
            told |= {"empty": True} if isinstance(error, EmptyPeriodError) else {}
            return {**about, "settled": False, "why": str(error), "summary": None, **told}, None
        stage = None if after is None else after["stage"]
        summary = files.document(SUMMARY) if after is None else None
        settled = {"settled": after is None, "before": at is None and is_sealed, "stage": stage, "summary": summary}
        return {**about, **settled, "why": None, "drift": 0}, after

    def _winners(self, results: ResultsBucket, prefix: str, summary: Mapping[str, Any]) -> dict[str, list[str]]:
        """The first winners of each prize of a settled period, by its files."""
        return winners_of(Files(results, prefix, self.clock, summary["start"], summary["end"]), summary, NAMED)

    def _note(self, results: ResultsBucket, board: str, deadline: float) -> None:
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
            self._noted(results, record)
        finally:
            self.lease.end(position, deadline)

    def _noted(self, results: ResultsBucket, record: BoardRecord) -> BoardRecord:
        """The record, with what version 0.3 settled of the board, by the files that are there.

        The caller has the lease, so no run of version 0.3 is at work. Later versions mark a ranking before they settle.
        """
        if record.settled is not None or record.deleted or record.has_ended(self.clock.now()):
            return record
        keys = keys_of(results, self.clock, board_prefix(record.board), "")
        begun = {key.rpartition("/")[0] + "/" for key in keys if key.endswith((f"/{SUMMARY}", f"/{ATTEMPT}"))}
        rankings = calendar_rankings(family_of(self.catalog.boards, record.board), record.board, self.clock.now())
        ending = (one for one in rankings if final_at(one.metric.timetable, one.window, one.period) is not None)
        settled = {settled_code(one) for one in ending if Files.of(results, one, self.clock).prefix in begun}
        return self.clock.retry(self.catalog.settle, record.board, settled)

    def _is_to_mark(
        self, ranking: Ranking, record: BoardRecord, at: Mapping[str, Any] | None, *, seals_empty: bool
    ) -> bool:
        """Whether history leaves the period out from now on: not one that is empty, which history may still fill."""
        if at is not None:
            return bool(at.get("marked", True))
        is_left = not seals_empty and is_empty(self.reads, ranking, record.generation)
        return not (is_left and has_members(self.reads, ranking.board))

    def _record(self, ranking: Ranking, *, files_are_there: bool) -> BoardRecord:
        """The board's record. NotSettledError if the ranking is not final, or cannot be read whole.

        A period whose files are there is settled, whatever became of ranking and board: only events may be left to put.
        """
        now, final = self.clock.now(), final_at(ranking.metric.timetable, ranking.window, ranking.period)
        if final is None or now < final:
            raise NotSettledError(f"the period is final at {instant(final)}: settle it then")
        record = self.clock.retry(self.catalog.current, ranking.board)
        is_gone = record is None or record.deleted or record.is_being_deleted or record.has_ended(now)
        if record is None or (is_gone and not files_are_there):
            raise NotSettledError("there is no such board, or it is being deleted, or it has ended")
        if files_are_there:
            return record
        until = record.coverage.readable_until(ranking)
        if until is not None and now >= until:
            raise NotSettledError(f"the period could be read until {instant(until)}: nothing is left to settle")
        if not record.coverage.holds(ranking):
            raise NotSettledError("the ranking is not built for all of this period: rebuild the board")
        return record


class _Attempt(NamedTuple):
    """A call that has the lease. `name` is one that no other call has, such as `1795300000000-17`."""

    name: str
    destination: Destination
    deadline: float
    seals_empty: bool = False


def _metrics(family: Family, window: str, metric: str | None) -> list[Metric]:
    """The metrics to settle in a window."""
    settle = family.endings.settle
    if window not in settle:
        named = ", ".join(settle) or "none"
        expected = f"expected one that boards.toml settles for this board ({named}), got {window!r}"
        raise bad_argument("window", f"{expected}; `settle` in boards.toml adds one")
    ranked = [one for one in family.metrics.values() if one.window(window) is not None]
    chosen = [one for one in ranked if metric in (None, one.name)]
    if not chosen:
        names = ", ".join(one.name for one in ranked)
        raise bad_argument("metric", f"expected one that is ranked in {window!r} ({names}), got {metric!r}")
    return chosen


class _Run(Run[Position]):
    """The settlements of one run of the schedule. A run ends with its time or the last board.

    Due is each final period of a window that the family settles, as long as it can be read whole and not all of its
    events were put; for a day after the board's end, only if it is sealed. One in which nobody is ranked is left as it
    is if the board has members: its history may still come, or somebody settles it. `left` names those that this run
    has found.
    """

    def __init__(self, settlements: Settlements, position: Position, attempt: _Attempt) -> None:
        super().__init__(settlements.lease, position, attempt.deadline, settlements.catalog)
        self._settlements = settlements
        self._attempt = attempt
        self.told: list[dict[str, Any]] = []
        self.left: list[dict[str, str]] = []

    def visit(self, board: str, at: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        for ranking in self._due(board, at["ranking"] if at is not None else ""):
            key = ranking.ranking_code
            here = at["at"] if at is not None and at["ranking"] == key else None
            report, after = self._settlements._settle_ranking(self._attempt, ranking, here)  # noqa: SLF001 - its run
            if report.get("empty"):
                self._leave(ranking, report)
            else:
                self.told.append(report)
            if after is not None:
                return {"ranking": key, "at": after}
            if self.is_over():
                return {"ranking": "", "at": None}
        return None

    def _leave(self, ranking: Ranking, report: Mapping[str, Any]) -> None:
        """Leave an empty period unsealed. Its file tells later runs, so that they need not audit it again."""
        Files.of(self._attempt.destination.results, ranking, self._settlements.clock).put(EMPTY, {})
        self.left.append({name: report[name] for name in ("board", "metric", "window", "period")})

    def _is_left(self, ranking: Ranking) -> bool:
        """Whether nobody is ranked in a period that was left unsealed. It reads the beginning of the list."""
        record = self._settlements.clock.retry(self._catalog.current, ranking.board)
        return record is not None and is_empty(self._settlements.reads, ranking, record.generation)

    def is_over(self) -> bool:
        return self._settlements.clock.monotonic() >= self._deadline - RESERVE_S

    def _due(self, board: str, first: str) -> Iterator[Ranking]:
        """The rankings of a board that are due: the one with the code `first`, then the earliest periods."""
        family = self._catalog.boards.family(board)
        if family is None or not family.endings.settle:
            return
        results, clock = self._attempt.destination.results, self._settlements.clock
        record = clock.retry(self._catalog.current, board)
        if record is None or record.deleted or record.has_ended(clock.now() - DAY):
            return
        due = {ranking: Files.of(results, ranking, clock).prefix for ranking in self._final(family, record)}
        found, bounds = self._files(due.values()), family.timetable.bounds
        for ranking in sorted(due, key=lambda one: (one.ranking_code != first, bounds(one.window, one.period))):
            prefix = due[ranking]
            is_left = record.has_ended(clock.now()) or (prefix + EMPTY in found and self._is_left(ranking))
            if prefix + ALL_SENT not in found and (prefix + SUMMARY in found or not is_left):
                yield ranking

    def _final(self, family: Family, record: BoardRecord) -> Iterator[Ranking]:
        """The rankings that are final, complete, and can still be read.

        A period that was final before the board's first event has no members.
        """
        now = self._settlements.clock.now()
        record = self._settlements._noted(self._attempt.destination.results, record)  # noqa: SLF001 - its run
        for ranking in open_rankings(family, record.board, now):
            if ranking.window.name not in family.endings.settle:
                continue
            until = record.coverage.readable_until(ranking)
            is_whole = record.coverage.holds(ranking) and (until is None or now < until)
            final = final_at(ranking.metric.timetable, ranking.window, ranking.period)
            if is_whole and final is not None and record.begun < final <= now:
                yield ranking

    def _files(self, prefixes: Iterable[str]) -> set[str]:
        """The files that tell that a period is sealed, is done, or was left. It lists no files of earlier periods."""
        results, earliest = self._attempt.destination.results, dict[str, str]()
        for prefix in prefixes:
            window, _, label = prefix.rstrip("/").rpartition("/")
            earliest[window] = min(label, earliest.get(window, label))
        return {
            key
            for window, label in earliest.items()
            for key in keys_of(results, self._settlements.clock, f"{window}/", f"{window}/{label}")
            if key.endswith((f"/{ALL_SENT}", f"/{SUMMARY}", f"/{EMPTY}"))
        }
