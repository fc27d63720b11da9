"""Settles one period: audits its ranking, writes the final list into files, seals them, and sends events for prizes.

1. *Audit*: every member's row is compared with its item in Scores, and the list with the tiers. A checksum of every
   member's score in Scores is kept.
2. *Files*: the list is written, a part at a time.
3. *Seal*: the files are read back. They must hold what the audit saw, line by line, with the ranks that follow from
   the order. Then the summary is written, if there is none.
4. *Events*: `Prize Won` for each winner of a prize, then `Period Settled`. An event's id is made from what the event is
   about. So each try makes the same ids, and a consumer recognises an event that was delivered twice.

A settlement that stops anywhere goes on from its cursor, or from the beginning: each step writes what it would have
written before. Callers take turns, and each may come back with an old cursor. So every attempt writes its name into
`attempt.json`, a fencing token, before its first file. If the name there is another one, or the period is settled, the
attempt stops.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import orjson

from standings.aws.eventbridge import MAX_EVENTS, BusEvent, EventBus
from standings.domain.boards import MAX_ANNOUNCED, Family, Ranking
from standings.domain.coverage import BoardRecord
from standings.domain.members import Image, place
from standings.domain.windows import final_at, instant, label_of
from standings.maintain.audit import BoardAudit
from standings.maintain.settled_files import ALL_SENT, SUMMARY, Checksum, Files, Line, rest_of
from standings.maintain.turns import drive
from standings.rankings.checking import RankingChecks, tree_of
from standings.rankings.findings import AuditReads, Findings, Kind
from standings.read.session import period_of
from standings.stores import SLOTS, StoreUnavailableError

PART: Final = 50_000  # Lines of a file
RESERVE_S: Final = 60.0  # Seconds that a step may need: without them, the next call does it
REMEMBERED_TOGETHER: Final = 500  # Events after which their ids are stored. A crash may repeat as many.
MEMBERS_PAGE: Final = 100  # Members that are read together to find one that is there
PUT_TIMEOUT_S: Final = 30.0  # Seconds for which events that failed are put again
_FIRST: Final = " "  # Before every key of a list
_ABOUT: Final = ("stack", "board", "metric", "window", "period")
_Cursor = Mapping[str, Any]  # `{"stage": "files", …}`, or `{"stage": "events"}`


class NotSettledError(Exception):
    """A ranking cannot be settled now, and stays unsettled. `report` is the audit's, if the audit found the reason."""

    def __init__(self, why: str, report: Mapping[str, Any] | None = None) -> None:
        super().__init__(why)
        self.report = report


class EmptyPeriodError(NotSettledError):
    """Nobody is ranked in a period, though the board has members: events may be missing that are still to come."""

    def __init__(self) -> None:
        super().__init__("nobody is ranked in this period, though the board has members: post what is missing first")


def is_empty(reads: AuditReads, ranking: Ranking, generation: int) -> bool:
    """Whether a ranking has no entries in a generation."""
    tree = tree_of(reads, ranking._replace(generation=generation))
    return next(tree.following(_FIRST), None) is None


def has_members(reads: AuditReads, board: str) -> bool:
    """Whether a board has members, ranked or not."""
    for slot in range(SLOTS):
        after, is_whole = None, False
        while not is_whole:
            page = reads.members(board, slot, after, MEMBERS_PAGE)
            if not all(isinstance(image, Image) and image.removed for image in page):
                return True
            is_whole = len(page) < MEMBERS_PAGE
            after = None if is_whole else page[-1].member
    return False


@dataclass(frozen=True)
class Settlement:
    """Settles a ranking, which has generation 0, a part at each call. `stack` is named in summary and events.

    It `seals_empty` periods also of boards that have members. Only a ranking that `is_marked` in the board's record is
    sealed: history then leaves it out. `attempt` is a name that no other call has, such as
    `1795300000000-17`: files that this call begins get it.
    """

    findings: Findings
    family: Family
    record: BoardRecord
    ranking: Ranking
    files: Files
    attempt: str
    bus: EventBus
    stack: str
    seals_empty: bool
    is_marked: bool

    def run(self, cursor: _Cursor | None, *, again: bool) -> _Cursor | None:
        """Settle from a cursor on (None: from the beginning): the next cursor, None when all is done.

        With `again`, files and summary of an earlier settlement are replaced.
        NotSettledError: it cannot be settled now. StoreUnavailableError: try again later.
        """
        steps: dict[str, Callable[[_Cursor], _Cursor | None]]
        steps = {"audit": self._audit, "files": self._write, "seal": self._seal, "events": self._send}
        at = cursor
        if at is None:
            at = self._first(again=again) if again or not self._is_sealed() else {"stage": "events"}
        if at["stage"] != "events" and at["generation"] != self.record.generation:
            at = self._first(again=at["again"])  # A rebuild has switched reads in between.
        elif at["stage"] in {"files", "seal"}:
            if self._is_sealed():
                at = {"stage": "events"}
            elif self.files.is_outdated(at.get("attempt")):
                raise NotSettledError("another call has begun to write this period's files: try again")
        return drive(lambda at: steps[at["stage"]](at), at, lambda _: self.findings.is_over(RESERVE_S))

    def _first(self, *, again: bool) -> _Cursor:
        generation = self.record.generation
        first = {"stage": "audit", "generation": generation, "again": again, "at": None, "sum": "0", "members": 0}
        return {**first, "marked": self.is_marked}

    def _is_sealed(self) -> bool:
        return self.files.document(SUMMARY) is not None

    def _audit(self, at: _Cursor) -> _Cursor:
        seen = Checksum(at["sum"], at["members"])

        def see(image: Image, ranking: Ranking) -> None:
            if (placed := place(image, ranking)) is not None:
                seen.add(rest_of(image.member, placed.values, ranking.metric))

        generation, coverage = self.record.generation, self.record.coverage
        checks = RankingChecks(self.findings, self.family, generation, coverage, self.ranking, see)
        report = BoardAudit(checks).run(at["at"])
        if any(report["found"].values()):
            found = ", ".join(f"{count} {kind}" for kind, count in report["found"].items() if count)
            advice = "rebuild the board" if report["drift"] else "the ranking is still catching up: try again later"
            if report["found"][Kind.DAMAGED]:
                advice = "repair the damaged items first, which a rebuild leaves out"
            raise NotSettledError(f"the audit found {found}: {advice}", report)
        counted = {**at, "sum": str(seen), "members": seen.members}
        if not report["done"]:
            return {**counted, "at": report["cursor"]}
        if not (seen.members or self.seals_empty) and has_members(self.findings.reads, self.ranking.board):
            raise EmptyPeriodError
        if not self.is_marked:
            raise NotSettledError("the ranking was empty when the audit began, and is not now: try again", report)
        if not at["again"] and self._is_sealed():
            return {"stage": "events"}  # Another call has settled the period since this one began.
        self.files.begin(self.attempt)
        if at["again"]:
            self.files.reopen()
        counted.pop("at")
        nothing = {"parts": 0, "after": _FIRST, "listed": 0, "rank": 0, "last": None}
        return {**counted, "stage": "files", "attempt": self.attempt, **nothing}

    def _write(self, at: _Cursor) -> _Cursor:
        """Write the next part of the list."""
        ranking = self.ranking._replace(generation=self.record.generation)
        after, listed, rank, last, parts = at["after"], at["listed"], at["rank"], at["last"], at["parts"]
        lines: list[Line] = []
        for entry in tree_of(self.findings.reads, ranking).following(after):
            if entry.place is None:
                raise NotSettledError(f"an entry of {entry.member!r} cannot be read: rebuild the board")
            if (values := [*entry.place.values]) != last:
                rank, last = listed + 1, values
            listed += 1
            after = entry.key
            lines.append(Line(rank, rest_of(entry.member, entry.place.values, ranking.metric)))
            if len(lines) == PART:
                break
        if lines or not parts:
            parts += 1
            self.files.put_part(parts, lines, ranking.metric)
        stage = "files" if len(lines) == PART else "seal"
        return {**at, "stage": stage, "parts": parts, "after": after, "listed": listed, "rank": rank, "last": last}

    def _seal(self, at: _Cursor) -> _Cursor:
        """Read the files back, and write the summary if they hold what the audit saw."""
        window, metric, total = self.ranking.window, self.ranking.metric, at["members"]
        prizes: list[dict[str, Any]] = [
            {"name": one.name, "method": one.method, "first": one.first, "last": one.last_rank(total), "winners": 0}
            for one in self.family.endings.prizes_of(window.name, metric.name)
        ]
        digest = self._read_back(at, prizes)
        self.files.drop_parts_after(at["parts"])
        self.files.settle(
            {
                "stack": self.stack,
                "board": self.ranking.board,
                "metric": metric.name,
                "window": window.name,
                "period": label_of(metric.timetable, window, self.ranking.period),
                **period_of(self.ranking),
                "final_at": instant(final_at(metric.timetable, window, self.ranking.period)),
                "members": total,
                "digest": digest,
                "parts": at["parts"],
                "prizes": [{**prize, "events": prize["winners"] <= MAX_ANNOUNCED} for prize in prizes],
            }
        )
        return {"stage": "events"}

    def _read_back(self, at: _Cursor, prizes: list[dict[str, Any]]) -> str:
        """The digest of the files' lines; `prizes` get their `winners`. NotSettledError if they hold anything else."""
        digest, written = sha256(), Checksum()
        rank, last = 0, b""
        for line in self.files.lines(at["parts"]):
            if (numbers := line.numbers) != last:
                rank, last = written.members + 1, numbers
            if line.rank != rank:
                break
            digest.update(line.content)
            written.add(line.rest)
            for prize in prizes:
                prize["winners"] += _is_won(prize, rank, written.members)
        if (str(written), written.members) != (at["sum"], at["members"]):
            raise NotSettledError(
                f"the files do not hold the {at['members']} members that the audit counted: "
                "somebody was hidden, removed or brought back meanwhile, or the list is catching up. Try again"
            )
        return digest.hexdigest()

    def _send(self, at: _Cursor) -> _Cursor | None:
        """Put the events that were not put yet. Returns the same cursor if the time was too short; None: all are put.

        StoreUnavailableError: some could not be put for `PUT_TIMEOUT_S`. The ids of those that were put are stored.
        """
        summary = self.files.document(SUMMARY)
        if summary is None:
            raise StoreUnavailableError("the summary was removed meanwhile: settle the period again")
        if self.files.document(ALL_SENT) is not None:
            return None
        sent, fresh, batch = self.files.sent(), list[str](), list[BusEvent]()
        for count, event in enumerate(self._events(summary), 1):  # noqa: B007 - the last one is their number
            if event.id in sent:
                continue
            batch.append(event)
            if len(batch) == MAX_EVENTS:
                self._put(batch, fresh)
                batch = []
                if len(fresh) >= REMEMBERED_TOGETHER:
                    self.files.add_sent(fresh)
                    fresh = []
                    if self.findings.is_over():
                        return at
        self._put(batch, fresh)
        if fresh:
            self.files.add_sent(fresh)
        self.files.put(ALL_SENT, {"events": count})
        return None

    def _put(self, batch: list[BusEvent], fresh: list[str]) -> None:
        """Put a batch, and what failed of it again. `fresh` gets the ids of those that were put."""
        backoff = self.findings.clock.backoff_for(PUT_TIMEOUT_S)
        while batch:
            try:
                failed, why = self.bus.put(batch), ""
            except StoreUnavailableError as error:
                failed, why = {event.id: "" for event in batch}, str(error)
            fresh += (event.id for event in batch if event.id not in failed)
            batch = [event for event in batch if event.id in failed]
            if batch and not backoff.wait():
                if fresh:
                    self.files.add_sent(fresh)
                raise StoreUnavailableError(f"events were not taken: {why or next(iter(failed.values()))}")

    def _events(self, summary: Mapping[str, Any]) -> Iterator[BusEvent]:
        about = {name: summary[name] for name in _ABOUT}
        # A season that has the name of an earlier one has other files, and its events have other ids.
        identity = {**about, "period": self.files.label}.values()
        prizes = [prize for prize in summary["prizes"] if prize["events"] and prize["winners"]]
        last = max((prize["last"] for prize in prizes), default=0)
        for position, line in enumerate(self.files.lines(summary["parts"] if prizes else 0), 1):
            if line.rank > last:
                break
            for prize in prizes:
                if _is_won(prize, line.rank, position):
                    won = {"prize": prize["name"], "rank": line.rank, "member": line.member}
                    ties = {"tie_breaks": orjson.Fragment(line.tie_breaks)} if line.tie_breaks else {}
                    detail = {**about, **won, "score": orjson.Fragment(line.score), **ties}
                    yield _event("Prize Won", ["prize", *identity, prize["name"], line.member], detail)
        settled = {
            "members": summary["members"],
            "digest": summary["digest"],
            "bucket": self.files.results.name,
            "prefix": self.files.prefix,
            "prizes": [{"name": prize["name"], "winners": prize["winners"]} for prize in summary["prizes"]],
        }
        # A settlement that replaces another one has another digest, and so another id.
        yield _event("Period Settled", ["period", *identity, summary["digest"]], {**about, **settled})


def winners_of(files: Files, summary: Mapping[str, Any], most: int) -> dict[str, list[str]]:
    """The first `most` winners of each prize of a settled period, in the list's order: `{"gold": ["u7"]}`."""
    prizes = [prize for prize in summary["prizes"] if prize["winners"]]
    found: dict[str, list[str]] = {prize["name"]: [] for prize in prizes}
    for position, line in enumerate(files.lines(summary["parts"] if prizes else 0), 1):
        for prize in prizes:
            if len(found[prize["name"]]) < most and _is_won(prize, line.rank, position):
                found[prize["name"]].append(line.member)
        if all(len(found[prize["name"]]) == min(most, prize["winners"]) for prize in prizes):
            break
    return found


def _is_won(prize: Mapping[str, Any], rank: int, position: int) -> bool:
    """Whether a line with a rank wins a prize of a summary. `position` is the line's number, from 1."""
    # Summaries of version 0.2 name no method: they compare ranks.
    return bool(prize["first"] <= (position if prize.get("method") == "ordinal" else rank) <= prize["last"])


def _event(kind: str, about: list[str], detail: Mapping[str, Any]) -> BusEvent:
    """An event whose id is made from what it is about."""
    identity = sha256(orjson.dumps(about)).hexdigest()[:32]
    return BusEvent(identity, kind, orjson.dumps({"id": identity, **detail}).decode())
