"""Settles one ranking: audits it, writes its files, makes sure of them, and puts its events.

1. *Audit*: every member's row is compared with its item in Scores, and the list with the tiers. A checksum of what
   Scores say of every member is kept.
2. *Files*: the list is written, a part at a time.
3. *Seal*: the files are read back. They must hold what the audit saw, line by line, with the ranks that follow from the
   order. Then the summary is written, if there is none.
4. *Events*: one for each winner of a prize, and one for the period.

A settlement that stops anywhere goes on from its cursor, or from the beginning: each step writes what it would have
written before.

Callers take turns, and each may come back with an old cursor. So every attempt writes its name into `attempt.json`, a
fencing token, before its first file. If the name there is another one, or the period is settled, the attempt stops.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from standings.domain.boards.definitions import Family, Ranking
from standings.domain.boards.endings import MAX_ANNOUNCED
from standings.domain.members.member_item import Image
from standings.domain.members.rolling_sum import place
from standings.domain.windows.calendar import instant
from standings.domain.windows.endings import final_at, label_of
from standings.maintain.audit.audit import BoardAudit
from standings.maintain.audit.ranking_entries import RankingEntries
from standings.maintain.audit.report import AuditCall, Kind
from standings.maintain.settle.files import Files
from standings.maintain.settle.lines import Checksum, Line, rest_of
from standings.maintain.settle.prize_events import PrizeEvents
from standings.ports.board_records import BoardRecord
from standings.ports.endings import Bus
from standings.read.answer_fields import period

PART: Final = 50_000  # Lines of a file
RESERVE_S: Final = 60.0  # Seconds that a step may need: without them, the next call does it
_FIRST: Final = " "  # Before every key of a list


class NotSettledError(Exception):
    """Why a ranking cannot be settled now. Nothing says that it is. `report` is that of the audit, if it found it."""

    def __init__(self, why: str, report: Mapping[str, Any] | None = None) -> None:
        super().__init__(why)
        self.report = report


@dataclass(frozen=True)
class Settlement:
    """Settles a ranking, which has generation 0, a part at each call. `stack` is named in summary and events.

    `attempt` is a name that no other call has, such as `1795300000000-17`: files that this call begins get it.
    """

    call: AuditCall
    family: Family
    record: BoardRecord
    ranking: Ranking
    files: Files
    attempt: str
    bus: Bus
    stack: str

    def run(self, cursor: Mapping[str, Any] | None, *, again: bool) -> dict[str, Any] | None:
        """Settle from a cursor on (None: from the beginning): the next cursor, None when all is done.

        With `again`, files and summary of an earlier settlement are replaced. Raises NotSettledError.
        """
        steps = {"audit": self._audit, "files": self._write, "seal": self._seal, "events": self._send}
        at = self._begin(again=again) if cursor is None else cursor
        if at["stage"] != "events" and at["generation"] != self.record.generation:
            at = self._first_step(again=at["again"])  # A rebuild has switched reads in between.
        elif at["stage"] in {"files", "seal"} and self._is_settled(at):
            at = {"stage": "events"}
        is_first = True
        while is_first or not self.call.is_over(RESERVE_S):
            following = steps[at["stage"]](at)
            if following is None:
                return None
            if following == at:
                break
            at, is_first = following, False
        return dict(at)

    def _begin(self, *, again: bool) -> dict[str, Any]:
        if not again and self.files.summary() is not None:
            return {"stage": "events"}
        return self._first_step(again=again)

    def _first_step(self, *, again: bool) -> dict[str, Any]:
        generation = self.record.generation
        return {"stage": "audit", "generation": generation, "again": again, "at": None, "sum": "0", "members": 0}

    def _is_settled(self, at: Mapping[str, Any]) -> bool:
        """Whether another attempt has settled the period. NotSettledError if another one has begun to write files."""
        if self.files.summary() is not None:
            return True
        if self.files.is_outdated(at.get("attempt")):
            raise NotSettledError("another call has begun to write this period's files: try again")
        return False

    def _audit(self, at: Mapping[str, Any]) -> dict[str, Any]:
        seen = Checksum(at["sum"], at["members"])

        def see(image: Image, ranking: Ranking) -> None:
            if (placed := place(image, ranking)) is not None:
                seen.add(rest_of(image.member, placed.sort_value, ranking.metric))

        audit = BoardAudit(self.call, self.family, self.record.generation, self.record.coverage, self.ranking, see)
        report = audit.run(at["at"])
        if any(report["found"].values()):
            found = ", ".join(f"{count} {kind}" for kind, count in report["found"].items() if count)
            advice = "rebuild the board" if report["drift"] else "the ranking is still catching up: try again later"
            if report["found"][Kind.DAMAGED]:
                advice = "repair the damaged items first, which a rebuild leaves out"
            raise NotSettledError(f"the audit found {found}: {advice}", report)
        counted = {**at, "sum": str(seen), "members": seen.members}
        if not report["done"]:
            return {**counted, "at": report["cursor"]}
        if not at["again"] and self.files.summary() is not None:
            return {"stage": "events"}  # Another call has settled the period since this one began.
        self.files.begin(self.attempt)
        if at["again"]:
            self.files.reopen()
        counted.pop("at")
        nothing = {"parts": 0, "after": _FIRST, "listed": 0, "rank": 0, "last": None}
        return {**counted, "stage": "files", "attempt": self.attempt, **nothing}

    def _write(self, at: Mapping[str, Any]) -> dict[str, Any]:
        """Write the next part of the list."""
        ranking = self.ranking._replace(generation=self.record.generation)
        following = RankingEntries(self.call, ranking).following(at["after"], self.call.reads.root(ranking).shards)
        after, listed, rank, last = at["after"], at["listed"], at["rank"], at["last"]
        lines: list[Line] = []
        for entry in following:
            if entry.place is None:
                raise NotSettledError(f"an entry of {entry.member!r} cannot be read: rebuild the board")
            if entry.place.sort_value != last:
                rank, last = listed + 1, entry.place.sort_value
            listed += 1
            after = entry.key
            lines.append(Line(rank, rest_of(entry.member, entry.place.sort_value, ranking.metric)))
            if len(lines) == PART:
                break
        parts = at["parts"]
        if lines or not parts:
            parts += 1
            self.files.put_part(parts, lines)
        stage = "files" if len(lines) == PART else "seal"
        return {**at, "stage": stage, "parts": parts, "after": after, "listed": listed, "rank": rank, "last": last}

    def _seal(self, at: Mapping[str, Any]) -> dict[str, Any]:
        """Read the files back, and write the summary if they hold what the audit saw."""
        total = at["members"]
        window, metric = self.ranking.window, self.ranking.metric
        prizes = self.family.endings.prizes_of(window.name, metric.name)
        ranges = [(prize, prize.first, prize.last_rank(total)) for prize in prizes]
        winners = dict.fromkeys(prizes, 0)
        digest, written = sha256(), Checksum()
        rank, last = 0, b""
        for line in self.files.lines(at["parts"]):
            if (score := line.score) != last:
                rank, last = written.members + 1, score
            if line.rank != rank:
                break
            digest.update(line.content)
            written.add(line.rest)
            for prize, first, final in ranges:
                winners[prize] += first <= rank <= final
        if (str(written), written.members) != (at["sum"], total):
            raise NotSettledError(
                f"the files have not the {total} members that the audit saw: "
                "somebody was hidden, removed or brought back meanwhile, or the list is catching up. Try again"
            )
        self.files.drop_parts_after(at["parts"])
        timetable = metric.timetable
        self.files.settle(
            {
                "stack": self.stack,
                "board": self.ranking.board,
                "metric": metric.name,
                "window": window.name,
                "period": label_of(timetable, window, self.ranking.period),
                **period(self.ranking),
                "final_at": instant(final_at(timetable, window, self.ranking.period)),
                "members": total,
                "digest": digest.hexdigest(),
                "parts": at["parts"],
                "prizes": [
                    {
                        "name": prize.name,
                        "first": first,
                        "last": final,
                        "winners": winners[prize],
                        "events": winners[prize] <= MAX_ANNOUNCED,
                    }
                    for prize, first, final in ranges
                ],
            }
        )
        return {"stage": "events"}

    def _send(self, at: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Put the events that were not put yet: the same cursor if the time was too short."""
        done = PrizeEvents(self.files, self.bus, self.call.clock).send(self.call.is_over)
        return None if done else at
