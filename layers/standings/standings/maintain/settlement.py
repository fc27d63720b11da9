"""Settles one period: writes its final list into files, seals it with a summary, and sends events for prizes."""

import csv
import gzip
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple

import orjson

from standings.aws.eventbridge import MAX_EVENTS, BusEvent, EventBus
from standings.aws.s3 import ResultsBucket
from standings.domain.board_record import BoardRecord
from standings.domain.boards import MAX_ANNOUNCED, Family, Metric, PrizeMethod, Ranking
from standings.domain.members import Image, place
from standings.domain.windows import final_at, instant, label_of
from standings.maintain.audit import BoardAudit
from standings.rankings.checking import RankingChecks, tree_of
from standings.rankings.findings import Findings, Kind
from standings.read.session import period_of, score_at
from standings.runtime.clock import Clock
from standings.stores import StoreUnavailableError

# The lines of settled files, and a checksum of them that does not depend on their order.
#
# A line is `{"rank":1,"member":"u1","score":300}`. The part behind the rank follows from a member's item alone. So an
# audit of Scores and a reader of files can both add up these parts, and agree only if the files hold every member of
# Scores with its score, and nobody else.

_LEVEL: Final = 6
_MODULUS: Final = 2**256


class Line(NamedTuple):
    """A line of a file: a rank, and the JSON of member and score behind it."""

    rank: int
    rest: bytes

    @property
    def content(self) -> bytes:
        """The line, with its end."""
        return b'{"rank":%d,%s\n' % (self.rank, self.rest)

    @property
    def member(self) -> str:
        """The member."""
        return str(orjson.loads(b"{" + self.rest)["member"])

    @property
    def score(self) -> bytes:
        """The score as JSON, with all its decimals."""
        return self.rest[self.rest.rindex(b":") + 1 : -1]


def rest_of(member: str, sort_value: int, metric: Metric) -> bytes:
    """A line behind its rank: `"member":"u1","score":300}`."""
    return orjson.dumps({"member": member, "score": score_at(sort_value, metric)})[1:]


class Checksum:
    """The sum of the digests of lines without their ranks, and the number of lines."""

    def __init__(self, text: str = "0", members: int = 0) -> None:
        self._sum = int(text, 16)
        self.members = members

    def add(self, rest: bytes) -> None:
        """Add a line."""
        self._sum = (self._sum + int.from_bytes(sha256(rest).digest(), "big")) % _MODULUS
        self.members += 1

    def __str__(self) -> str:
        """The sum as text, to go on with it later."""
        return f"{self._sum:x}"


def json_part(lines: Sequence[Line]) -> bytes:
    """A file of JSON lines. The same lines are always the same bytes."""
    return gzip.compress(b"".join(line.content for line in lines), _LEVEL, mtime=0)


def csv_part(lines: Sequence[Line]) -> bytes:
    """The same lines as CSV with a header."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    # The module quotes a line feed, but not a carriage return, at which other readers end the row.
    quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    table.writerow(("rank", "member", "score"))
    for line in lines:
        member = line.member
        (quoted if "\r" in member else table).writerow((line.rank, member, line.score.decode()))
    return gzip.compress(text.getvalue().encode(), _LEVEL, mtime=0)


def read_part(content: bytes) -> Iterator[Line]:
    """The lines of a file of JSON lines."""
    for line in gzip.decompress(content).splitlines():
        rank, _, rest = line.partition(b",")
        yield Line(int(rank[len(b'{"rank":') :]), rest)


def holds(content: bytes, member: str) -> bool:
    """Whether a file of JSON lines has a line of a member."""
    return b'"member":' + orjson.dumps(member) + b"," in gzip.decompress(content)


def as_json(value: Any) -> bytes:
    """A JSON document with sorted keys: the same value is always the same bytes."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


# The files of a settled period, under `results/{board}/{metric}/{window}/{period}/`.
#
# `{period}` is the period's first day, such as `2026-11-16`, or the name of a season, such as `winter`. If the files
# of an earlier season with that name are there already, it is the name and the first day: `winter-2027-12-01`.
#
# A period with a `summary.json` is settled. `sent-00001.json` … hold the ids of events that were put, and `events.json`
# says that all were. `attempt.json` names the attempt that began last: older attempts stop when they see its name.

RESULTS: Final = "results"
SUMMARY: Final = "summary.json"
ALL_SENT: Final = "events.json"
ATTEMPT: Final = "attempt.json"
_JSON_PART: Final = ".jsonl.gz"
_PART: Final = "standings-"
_SENT: Final = "sent-"


def keys_of(results: ResultsBucket, clock: Clock, prefix: str, after: str) -> Iterator[str]:
    """All keys that begin with a prefix and sort after `after`, in order."""
    return (stored.key for stored in results.following(clock.retry, prefix, after))


def board_prefix(board: str) -> str:
    """The prefix of the keys of a board's files: `results/berlin-2026/`."""
    return f"{RESULTS}/{board}/"


def is_json_part(key: str) -> bool:
    """Whether a file holds JSON lines."""
    return key.endswith(_JSON_PART)


@dataclass(frozen=True)
class Files:
    """The files of one ranking's period. Each request is retried for up to `RETRIED_FOR_S`.

    `start` and `end` are those of the period, such as `2026-11-16T00:00:00+01:00`.
    """

    results: ResultsBucket
    prefix: str
    clock: Clock
    start: str
    end: str

    def _content(self, name: str) -> bytes | None:
        return self.clock.retry(self.results.content, self.prefix + name)

    def _put(self, name: str, content: bytes) -> None:
        self.clock.retry(self.results.put, self.prefix + name, content)

    def _keys(self, beginning: str, after: str = "") -> Iterator[str]:
        return keys_of(self.results, self.clock, self.prefix + beginning, after)

    def summary(self) -> dict[str, Any] | None:
        """The summary; None if the period is not settled."""
        content = self._content(SUMMARY)
        return None if content is None else orjson.loads(content)

    def settle(self, summary: dict[str, Any]) -> None:
        """Write the summary, unless there is one."""
        self.clock.retry(self.results.put_new, self.prefix + SUMMARY, as_json(summary))

    def begin(self, attempt: str) -> None:
        """Store that an attempt begins to write files. From now on, older attempts are outdated."""
        about = {"attempt": attempt, "start": self.start, "end": self.end}
        self._put(ATTEMPT, as_json(about))

    def is_outdated(self, attempt: str | None) -> bool:
        """Whether another attempt has begun to write files after this one."""
        content = self._content(ATTEMPT)
        return content is None or orjson.loads(content)["attempt"] != attempt

    def are_of_another_period(self) -> bool:
        """Whether the files that are there belong to a period that shares no time with this one."""
        content = self._content(ATTEMPT) or self._content(SUMMARY)
        if content is None:
            return False
        about = orjson.loads(content)
        start, end, their_start, their_end = (
            datetime.fromisoformat(text) for text in (self.start, self.end, about["start"], about["end"])
        )
        return end <= their_start or their_end <= start

    @property
    def label(self) -> str:
        """The name of the folder: `2026-11-16` or `winter`."""
        return self.prefix.rstrip("/").rpartition("/")[2]

    def reopen(self) -> None:
        """Delete the summary, so that the period is not settled. The ids of events that were put stay.

        The summary goes last. If the call fails in between, the period is still settled.
        """
        self.clock.retry(self.results.delete, self.prefix + ALL_SENT)
        self.clock.retry(self.results.delete, self.prefix + SUMMARY)

    def put_part(self, number: int, lines: list[Line]) -> None:
        """Write some lines, in both formats."""
        self._put(_part(number), json_part(lines))
        self._put(f"{_PART}{number:05}.csv.gz", csv_part(lines))

    def drop_parts_after(self, number: int) -> None:
        """Delete the parts that an earlier try left behind the last one."""
        last = f"{self.prefix}{_PART}{number:05}~"
        for key in list(self._keys(_PART, last)):
            self.clock.retry(self.results.delete, key)

    def lines(self, parts: int) -> Iterator[Line]:
        """The lines of the first parts, in order. A part that is missing has none."""
        for number in range(1, parts + 1):
            yield from read_part(self._content(_part(number)) or _EMPTY)

    def sent(self) -> set[str]:
        """The ids of the events that were put."""
        contents = (self.clock.retry(self.results.content, key) for key in self._keys(_SENT))
        return {sent for content in contents for sent in orjson.loads(content or b"[]")}

    def add_sent(self, ids: list[str]) -> None:
        """Store the ids of events that were put."""
        number = sum(1 for _ in self._keys(_SENT)) + 1
        self._put(f"{_SENT}{number:05}.json", as_json(ids))

    def all_sent(self) -> bool:
        """Whether all events were put."""
        return self._content(ALL_SENT) is not None

    def mark_all_sent(self, events: int) -> None:
        """Store that all events were put, and how many."""
        self._put(ALL_SENT, as_json({"events": events}))


def _part(number: int) -> str:
    return f"{_PART}{number:05}{_JSON_PART}"


_EMPTY: Final = json_part([])


def files_of(results: ResultsBucket, ranking: Ranking, clock: Clock) -> Files:
    """The files of a ranking that has periods."""
    label = label_of(ranking.metric.timetable, ranking.window, ranking.period)
    folder = f"{board_prefix(ranking.board)}{ranking.metric.name}/{ranking.window.name}/"
    about = period_of(ranking)
    start, end = str(about["start"]), str(about["end"])
    files = Files(results, f"{folder}{label}/", clock, start, end)
    if ranking.window.unit != "s" or not files.are_of_another_period():
        return files
    return replace(files, prefix=f"{folder}{label}-{start[:10]}/")


# The events of a settled period: `Prize Won` for each winner of a prize, then `Period Settled`.
#
# An event's id is made from what the event is about. So each try makes the same ids, and a consumer recognises an event
# that was delivered twice.

REMEMBERED_TOGETHER: Final = 500  # Events after which their ids are stored. A crash may repeat as many.
PUT_TIMEOUT_S: Final = 30.0  # Seconds for which events that failed are put again
_ABOUT: Final = ("stack", "board", "metric", "window", "period")


def event_id(kind: str, *about: str) -> str:
    """The id of an event of a kind, made from what it is about."""
    return sha256(orjson.dumps([kind, *about])).hexdigest()[:32]


def placing(method: PrizeMethod, rank: int, position: int) -> int:
    """The number of a line that the ranks of a prize are compared with."""
    return position if method == "ordinal" else rank


@dataclass(frozen=True)
class PrizeEvents:
    """Puts the events of a settlement that were not put yet."""

    files: Files
    bus: EventBus
    clock: Clock

    def send(self, is_over: Callable[[], bool]) -> bool:
        """Put events until all are put, or the call is over. Returns whether all are.

        StoreUnavailableError: some could not be put for `PUT_TIMEOUT_S`. The ids of those that were put are stored.
        """
        summary = self.files.summary()
        if summary is None:
            raise StoreUnavailableError("the summary was removed meanwhile: settle the period again")
        if self.files.all_sent():
            return True
        sent = self.files.sent()
        fresh: list[str] = []
        batch: list[BusEvent] = []
        count = 0
        for event in self._events(summary):
            count += 1
            if event.id in sent:
                continue
            batch.append(event)
            if len(batch) == MAX_EVENTS:
                self._put(batch, fresh)
                batch = []
                if len(fresh) >= REMEMBERED_TOGETHER:
                    self.files.add_sent(fresh)
                    fresh = []
                    if is_over():
                        return False
        self._put(batch, fresh)
        if fresh:
            self.files.add_sent(fresh)
        self.files.mark_all_sent(count)
        return True

    def _put(self, batch: list[BusEvent], fresh: list[str]) -> None:
        """Put a batch, and what failed of it again. `fresh` gets the ids of those that were put."""
        backoff = self.clock.backoff_for(PUT_TIMEOUT_S)
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
                # Summaries of version 0.2 name no method.
                method = prize.get("method", "competition")
                if prize["first"] <= placing(method, line.rank, position) <= prize["last"]:
                    won = {"prize": prize["name"], "rank": line.rank, "member": line.member}
                    yield _event(
                        "Prize Won",
                        event_id("prize", *identity, prize["name"], line.member),
                        {**about, **won, "score": orjson.Fragment(line.score)},
                    )
        yield _event(
            "Period Settled",
            # A settlement that replaces another one has another digest, and so another id.
            event_id("period", *identity, summary["digest"]),
            {
                **about,
                "members": summary["members"],
                "digest": summary["digest"],
                "bucket": self.files.results.name,
                "prefix": self.files.prefix,
                "prizes": [{"name": prize["name"], "winners": prize["winners"]} for prize in summary["prizes"]],
            },
        )


def _event(kind: str, identity: str, detail: Mapping[str, Any]) -> BusEvent:
    return BusEvent(identity, kind, orjson.dumps({"id": identity, **detail}).decode())


# Settles one ranking: audits it, writes its files, makes sure of them, and puts its events.
#
# 1. *Audit*: every member's row is compared with its item in Scores, and the list with the tiers. A checksum of every
#    member's score in Scores is kept.
# 2. *Files*: the list is written, a part at a time.
# 3. *Seal*: the files are read back. They must hold what the audit saw, line by line, with the ranks that follow from
#    the order. Then the summary is written, if there is none.
# 4. *Events*: one for each winner of a prize, and one for the period.
#
# A settlement that stops anywhere goes on from its cursor, or from the beginning: each step writes what it would have
# written before.
#
# Callers take turns, and each may come back with an old cursor. So every attempt writes its name into `attempt.json`,
# a fencing token, before its first file. If the name there is another one, or the period is settled, the attempt
# stops.

PART: Final = 50_000  # Lines of a file
RESERVE_S: Final = 60.0  # Seconds that a step may need: without them, the next call does it
_FIRST: Final = " "  # Before every key of a list


class NotSettledError(Exception):
    """A ranking cannot be settled now, and stays unsettled. `report` is the audit's, if the audit found the reason."""

    def __init__(self, why: str, report: Mapping[str, Any] | None = None) -> None:
        super().__init__(why)
        self.report = report


@dataclass(frozen=True)
class Settlement:
    """Settles a ranking, which has generation 0, a part at each call. `stack` is named in summary and events.

    `attempt` is a name that no other call has, such as `1795300000000-17`: files that this call begins get it.
    """

    findings: Findings
    family: Family
    record: BoardRecord
    ranking: Ranking
    files: Files
    attempt: str
    bus: EventBus
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
        while is_first or not self.findings.is_over(RESERVE_S):
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
        following = tree_of(self.findings.reads, ranking).following(at["after"])
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
                winners[prize] += first <= placing(prize.method, rank, written.members) <= final
        if (str(written), written.members) != (at["sum"], total):
            raise NotSettledError(
                f"the files do not hold the {total} members that the audit counted: "
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
                **period_of(self.ranking),
                "final_at": instant(final_at(timetable, window, self.ranking.period)),
                "members": total,
                "digest": digest.hexdigest(),
                "parts": at["parts"],
                "prizes": [
                    {
                        "name": prize.name,
                        "method": prize.method,
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
        done = PrizeEvents(self.files, self.bus, self.findings.clock).send(self.findings.is_over)
        return None if done else at
