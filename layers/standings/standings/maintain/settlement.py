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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Any, Final, NamedTuple

import orjson

from standings.aws.eventbridge import MAX_EVENTS, BusEvent, EventBus
from standings.domain.boards import MAX_ANNOUNCED, Family, Ranking
from standings.domain.coverage import BoardRecord
from standings.domain.members import Image, place
from standings.domain.windows import final_at, instant
from standings.maintain.audit import audit_part
from standings.maintain.settled_files import ALL_SENT, SUMMARY, Checksum, Files, Line, names_of, rest_of
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


_EMPTY: Final = "nobody is ranked in this period, though the board has members: post what is missing first"


class NotSettledError(Exception):
    """A ranking cannot be settled now, and stays unsettled. `report` is the audit's, if the audit found the reason.

    Nobody is ranked in one that `is_empty`, though the board has members: events may be missing that are still to come.
    """

    def __init__(self, why: str, report: Mapping[str, Any] | None = None, *, is_empty: bool = False) -> None:
        super().__init__(why)
        self.report = report
        self.is_empty = is_empty


class Attempt(NamedTuple):
    """A call that has the lease. `name` is one that no other call has, such as `1795300000000-17`.

    Its summaries and events, which go to `bus`, name the `stack`. It ends at a `deadline` in seconds of the monotonic
    clock. It `seals_empty` periods also of boards that have members. With `again`, files and summary of an earlier
    settlement are replaced.
    """

    name: str
    bus: EventBus
    stack: str
    deadline: float
    seals_empty: bool = False
    again: bool = False


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
    """Settles a ranking, which has generation 0, a part at each call. Files that this call begins name its `attempt`.

    Only a ranking that `is_marked` in the board's record is sealed: history then leaves it out.
    """

    findings: Findings
    family: Family
    record: BoardRecord
    ranking: Ranking
    files: Files
    attempt: Attempt
    is_marked: bool

    def run(self, cursor: _Cursor | None) -> _Cursor | None:
        """Settle from a cursor on (None: from the beginning): the next cursor, None when all is done.

        NotSettledError: it cannot be settled now. StoreUnavailableError: try again later.
        """
        steps = {"audit": self._audit, "files": self._write, "seal": self._seal, "events": self._send}
        at, generation = cursor, self.record.generation
        if not at or (at["stage"] != "events" and at["generation"] != generation):
            # From the beginning: if there is a cursor, a rebuild has switched reads in between.
            again = at["again"] if at else self.attempt.again
            first = {"stage": "audit", "generation": generation, "again": again, "at": None, "sum": "0", "members": 0}
            at = {**first, "marked": self.is_marked}
        elif at["stage"] in {"files", "seal"}:
            if self._is_sealed():
                at = {"stage": "events"}
            elif self.files.is_outdated(at.get("attempt")):
                raise NotSettledError("another call has begun to write this period's files: try again")
        return drive(lambda at: steps[at["stage"]](at), at, lambda _: self.findings.is_over(RESERVE_S))

    def _is_sealed(self) -> bool:
        return self.files.document(SUMMARY) is not None

    def _audit(self, at: _Cursor) -> _Cursor:
        seen = Checksum(at["sum"], at["members"])

        def see(image: Image, ranking: Ranking) -> None:
            if (placed := place(image, ranking)) is not None:
                seen.add(rest_of(image.member, placed.values, ranking.metric))

        generation, coverage = self.record.generation, self.record.coverage
        checks = RankingChecks(self.findings, self.family, generation, coverage, self.ranking, see)
        report = audit_part(checks, at["at"])
        if any(report["found"].values()):
            found = ", ".join(f"{count} {kind}" for kind, count in report["found"].items() if count)
            advice = "rebuild the board" if report["drift"] else "the ranking is still catching up: try again later"
            if report["found"][Kind.DAMAGED]:
                advice = "repair the damaged items first, which a rebuild leaves out"
            raise NotSettledError(f"the audit found {found}: {advice}", report)
        counted = {**at, "sum": str(seen), "members": seen.members}
        if not report["done"]:
            return {**counted, "at": report["cursor"]}
        is_left = not (seen.members or self.attempt.seals_empty)
        if is_left and has_members(self.findings.reads, self.ranking.board):
            raise NotSettledError(_EMPTY, is_empty=True)
        if not self.is_marked:
            raise NotSettledError("the ranking was empty when the audit began, and is not now: try again", report)
        if not at["again"] and self._is_sealed():
            return {"stage": "events"}  # Another call has settled the period since this one began.
        self.files.begin(self.attempt.name, self.ranking)
        if at["again"]:
            self.files.reopen()
        counted.pop("at")
        nothing = {"parts": 0, "after": _FIRST, "listed": 0, "rank": 0, "last": None}
        return {**counted, "stage": "files", "attempt": self.attempt.name, **nothing}

    def _write(self, at: _Cursor) -> _Cursor:
        """Write the next part of the list."""
        ranking = self.ranking._replace(generation=self.record.generation)
        after, rank, last, parts, lines = at["after"], at["rank"], at["last"], at["parts"], list[Line]()
        entries = islice(tree_of(self.findings.reads, ranking).following(after), PART)
        for position, entry in enumerate(entries, at["listed"] + 1):
            if entry.place is None:
                raise NotSettledError(f"an entry of {entry.member!r} cannot be read: rebuild the board")
            if (values := [*entry.place.values]) != last:
                rank, last = position, values
            after = entry.key
            lines.append(Line(rank, rest_of(entry.member, entry.place.values, ranking.metric)))
        if lines or not parts:
            parts += 1
            self.files.put_part(parts, lines, ranking.metric)
        stage, listed = "files" if len(lines) == PART else "seal", at["listed"] + len(lines)
        return {**at, "stage": stage, "parts": parts, "after": after, "listed": listed, "rank": rank, "last": last}

    def _seal(self, at: _Cursor) -> _Cursor:
        """Read the files back, and write the summary if they hold what the audit saw."""
        names, total = names_of(self.ranking), at["members"]
        prizes: list[dict[str, Any]] = [
            {"name": one.name, "method": one.method, "first": one.first, "last": one.last_rank(total), "winners": 0}
            for one in self.family.endings.prizes_of(names["window"], names["metric"])
        ]
        digest = self._read_back(at, prizes)
        self.files.drop_parts_after(at["parts"])
        self.files.settle(
            {
                "stack": self.attempt.stack,
                **names,
                **period_of(self.ranking),
                "final_at": instant(final_at(self.ranking.metric.timetable, self.ranking.window, self.ranking.period)),
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
        rank, last = 0, (b"", b"")
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
        sent, events = self.files.sent(), list(self._events(summary))
        unsent = [event for event in events if event.id not in sent]
        for start in range(0, len(unsent), REMEMBERED_TOGETHER):
            if start and self.findings.is_over():
                return at
            part, fresh = unsent[start : start + REMEMBERED_TOGETHER], list[str]()
            try:
                for first in range(0, len(part), MAX_EVENTS):
                    self._put(part[first : first + MAX_EVENTS], fresh)
            finally:
                if fresh:
                    self.files.add_sent(fresh)
        self.files.put(ALL_SENT, {"events": len(events)})
        return None

    def _put(self, batch: list[BusEvent], fresh: list[str]) -> None:
        """Put a batch, and what failed of it again. `fresh` gets the ids of those that were put."""
        backoff = self.findings.clock.backoff_for(PUT_TIMEOUT_S)
        while batch:
            try:
                failed, why = self.attempt.bus.put(batch), ""
            except StoreUnavailableError as error:
                failed, why = {event.id: "" for event in batch}, str(error)
            fresh += (event.id for event in batch if event.id not in failed)
            batch = [event for event in batch if event.id in failed]
            if batch and not backoff.wait():
                raise StoreUnavailableError(f"events were not taken: {why or next(iter(failed.values()))}")

    def _events(self, summary: Mapping[str, Any]) -> Iterator[BusEvent]:
        about = {name: summary[name] for name in _ABOUT}
        # A season that has the name of an earlier one has other files, and its events have other ids.
        identity = {**about, "period": self.files.label}.values()
        prizes = [prize for prize in summary["prizes"] if prize["events"] and prize["winners"]]
        for prize, line in _won(self.files, summary, prizes):
            score, tie_breaks = line.numbers
            won = {"prize": prize["name"], "rank": line.rank, "member": line.member, "score": orjson.Fragment(score)}
            ties = {"tie_breaks": orjson.Fragment(tie_breaks)} if tie_breaks else {}
            yield _event("Prize Won", ["prize", *identity, prize["name"], line.member], {**about, **won, **ties})
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
    for prize, line in _won(files, summary, prizes):
        if len(found[prize["name"]]) < most:
            found[prize["name"]].append(line.member)
        if all(len(found[each["name"]]) == min(most, each["winners"]) for each in prizes):
            break
    return found


def _won(files: Files, summary: Mapping[str, Any], prizes: list[Mapping[str, Any]]) -> Iterator[tuple[Any, Line]]:
    """Each win of some prizes of a summary, with the winner's line, in the list's order."""
    last = max((prize["last"] for prize in prizes), default=0)
    for position, line in enumerate(files.lines(summary["parts"] if prizes else 0), 1):
        if line.rank > last:
            return
        yield from ((prize, line) for prize in prizes if _is_won(prize, line.rank, position))


def _is_won(prize: Mapping[str, Any], rank: int, position: int) -> bool:
    """Whether a line with a rank wins a prize of a summary. `position` is the line's number, from 1."""
    # Summaries of version 0.2 name no method: they compare ranks.
    return bool(prize["first"] <= (position if prize.get("method") == "ordinal" else rank) <= prize["last"])


def _event(kind: str, about: list[str], detail: Mapping[str, Any]) -> BusEvent:
    identity = sha256(orjson.dumps(about)).hexdigest()[:32]
    return BusEvent(identity, kind, orjson.dumps({"id": identity, **detail}).decode())
