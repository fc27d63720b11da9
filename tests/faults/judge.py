"""Compare the Rankings table with a model that counts the accepted events.

The judge watches the commits. An event is accepted when its receipt is written. It counts at the timestamp that the
same transaction writes to its items: the writer's clock, or the latest of their old timestamps if that is later. It is
accepted again only if its members were all removed since, and it was sent after that.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from standings.aws.dynamodb.scores import decode_image, decode_record
from standings.aws.dynamodb.tables import BOARDS, DELETED_BOARDS, DIGITS, board_of, member_key
from standings.domain.boards import Ranking
from standings.domain.coverage import BoardRecord
from standings.domain.members import aggregate_in_period
from standings.domain.scoring import LONG_AGO, MISSING, Place, sort_key, sort_value
from standings.domain.tiers import path
from standings.domain.windows import parse_window
from standings.rankings.rolling.steps import rolling_of
from tests.support.builders.stored import Counters, Stored
from tests.support.dynamodb.items import encode_item
from tests.support.oracle.model import ENDING, BoardModel, unit

from .aws import Call, Store, Write
from .instances import boards_of

if TYPE_CHECKING:
    from .ends import Ends
    from .script import Family, Shape

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LANES = ("", "+1", "+2", "+3")
ENDED = "takes no more events"
"""A part of the reason for which a board that has ended refuses events."""
MOST_REBUILDS = 50
Amounts = dict[str, int]


@dataclass(frozen=True, eq=False)
class Sent:
    """An event as its producer sent it, with the amounts for each board and member."""

    id: str
    body: str
    at: datetime
    updates: Mapping[tuple[str, str], Amounts]
    good: bool = True
    notes: Mapping[tuple[str, str], Any] = field(default_factory=dict)
    sets: Collection[tuple[str, str]] = ()
    """The pairs of board and member whose amounts are their new totals."""
    corrects: str | None = None
    """The event that it corrects. Without updates it takes back what that event counted."""
    keeps_at: bool = False
    """Whether a correction has the `at` of its event, and none of its own."""
    history: bool = False
    """Whether it counts in periods that have closed too."""


@dataclass(frozen=True)
class Edit:
    """An administrator's change of a member: register, hide, show, or remove."""

    board: str
    member: str
    hidden: bool | None = None
    remove: bool = False


@dataclass(frozen=True)
class Merge:
    """A merge of a member into another one."""

    board: str
    old: str
    new: str


class Judge:
    """A model of each board, updated from the commits, and the differences from the tables."""

    def __init__(self, shape: "Shape", store: Store, trap: Callable[[str], None], ends: "Ends") -> None:
        self._shape = shape
        self._store = store
        self._trap = trap
        self._ends = ends
        self._latest: dict[str, datetime] = {}
        self.models = {family.name: self._model(family.name) for family in shape.all_families}
        self.accepted: dict[str, int] = {}
        """When each event was counted last, in microseconds."""
        self._posted: dict[str, int] = {}
        self._removed: dict[tuple[str, str], int] = {}
        self._merged: dict[tuple[str, str], int] = {}
        self.differences: list[str] = []
        self.noted = 0  # How many notes were compared with those that the model expects
        self.set = 0  # How many totals were set
        self.current: dict[str, Sent | None] = {}
        """By event, the content that counts now; None if it was taken back."""
        self._stamps: dict[str, int] = {}
        """By event, the stamp of its receipt."""
        self._at: dict[str, datetime] = {}
        """By event, the `at` of the content that counted last."""
        self.corrected: Counter[str] = Counter()
        """How often events were corrected and taken back, and how often events that a correction changed again."""

    def _model(self, board: str) -> BoardModel:
        """Return the model of a board without events, with the metrics of both definitions."""
        model = next(family for family in self._shape.all_families if family.name == board).model()
        for later in (family for family in self._shape.later if family.name == board):
            model.metrics = {**model.metrics, **later.metrics}
        return model

    def begins_again(self, board: str) -> None:
        """Forget a board that has ended: nothing that it had counts in its next life, and no member of it is there."""
        before, self.models[board] = self.models[board], self._model(board)
        self.models[board].removed = before.removed | before.members.keys()
        for instants in (self._removed, self._merged):
            for key in [key for key in instants if key[0] == board]:
                del instants[key]

    def committed(self, call: Call, writes: Sequence[Write], events: Mapping[str, Sent]) -> None:
        """Count the events whose receipts are in a commit of a writer."""
        changed = {
            (board_of(item["pk"]), item["sk"]): (old, new)
            for table, old, new in writes
            if table == "Scores" and (item := new or old) is not None and item["pk"] not in (BOARDS, DELETED_BOARDS)
        }
        receipts = {
            receipt["pk"]: receipt
            for table, _, receipt in writes
            if table == "Receipts" and receipt is not None and "d" in receipt
        }
        if any("o" in receipt for receipt in receipts.values()):
            self._correct(call, changed, receipts, events)
            return
        counted = sorted((events[event_id] for event_id in receipts), key=lambda event: (event.at, event.id))
        keys = {key for event in counted for key in event.updates}
        now = self._instant(call, changed, keys, {receipts[event.id]["t"] for event in counted})
        for event in counted:
            self._ends.counted(event)
            if event.id in self.accepted:
                self._accept_again(event)
            self.accepted[event.id] = self._store.now
            self.current[event.id], self._stamps[event.id], self._at[event.id] = event, now, event.at
            if receipts[event.id]["t"] != now:
                self.differ(f"the receipt of {event.id}: expected {now}, got {receipts[event.id]['t']}")
            superseded = [self._count(event, key, _instant(now)) for key in event.updates]
            if any(superseded) != ("s" in receipts[event.id]):
                self.differ(f"the receipt of {event.id}: expected superseded to be {any(superseded)}")

    def _count(self, event: Sent, key: tuple[str, str], now: datetime) -> bool:
        """Count an event for one of its members. Return whether a total that it sets is older than another."""
        board, member = key
        model, amounts = self.models[board], event.updates[key]
        changes = dict(amounts)
        if key in event.sets:
            self.set += 1
            changes = model.set_totals(event.id, member, event.at, amounts)
            model.keep_sets(event.id, member, event.at, changes)
        is_superseded = key in event.sets and not all(
            model.is_latest(event.id, event.at, metric, member) for metric in amounts
        )
        if changes:
            how = {"history": event.history, "sets": key in event.sets}
            model.count(event.id, member, event.at, changes, now, event.notes.get(key), **how)
            self.corrected["history"] += event.history
            self._record_traps(board, model, now)
        return is_superseded

    def _correct(
        self,
        call: Call,
        changed: Mapping[tuple[str, str], tuple[Any, Any]],
        receipts: Mapping[str, Any],
        events: Mapping[str, Sent],
    ) -> None:
        """Correct an event, or take it back, as the one transaction of a writer did."""
        (own,) = (event_id for event_id, receipt in receipts.items() if "o" in receipt)
        sent, of = events[own], receipts[own]["o"]
        current = self.current.get(of)
        before = {} if current is None else current.updates
        held = {pair for pair in before if any(one.id == of for one in self._of(pair))}
        olds = [changed[pair][0] if pair in changed else self._item(*pair) for pair in {*before, *sent.updates}]
        stamp = max([call.reading, self._stamps.get(of, 0), *(old["t"] for old in olds if old is not None)])
        self._check_correction(sent, held, before, receipts, stamp)
        for pair, (_, new) in changed.items():
            if new is None or new["t"] != stamp or pair not in {*held, *sent.updates}:
                self.differ(f"{pair}: corrected, expected the timestamp {stamp}, got {new and new['t']}")
        for model in self.models.values():
            model.take_back(of, _instant(stamp))
        self._at[of] = at = self._at[of] if sent.keeps_at else sent.at
        for (board, member), amounts in sent.updates.items():
            self.models[board].count(of, member, at, amounts, _instant(stamp), history=sent.history)
        self.corrected["corrected" if sent.updates else "taken back"] += 1
        self.corrected["again"] += current is not None and current.corrects is not None
        self.accepted[own] = self.accepted[of] = self._store.now
        self._stamps[of], self.current[of] = stamp, replace(sent, at=at) if sent.updates else None

    def _check_correction(
        self, sent: Sent, held: Collection[Any], before: Collection[Any], receipts: Mapping[str, Any], stamp: int
    ) -> None:
        """Check that a correction may count, and its receipts."""
        of = sent.corrects
        if of not in self.accepted or sent.id in self.accepted:
            self.differ(f"{sent.id} has corrected {of}, of {self.accepted.get(str(of))}, twice or too early")
        if sent.updates and len(held) < len(before):
            self.differ(f"{sent.id} has corrected {of} although a member was removed since")
        if self._is_merged(before, of):
            self.differ(f"{sent.id} has corrected {of} although a member was merged since")
        # Of a window that only some definitions have, the event may not have counted in it.
        common = {name: self._shape.common(name) for name in self.models}
        closed = (model.has_closed(str(of), _instant(stamp), common[name]) for name, model in self.models.items())
        if any(closed) and not sent.history:
            self.differ(f"{sent.id} has changed a closed period")
        if {receipt["t"] for receipt in receipts.values()} != {stamp} or receipts.keys() != {of, sent.id}:
            self.differ(f"the receipts of {sent.id}: expected the stamp {stamp}, got {receipts}")

    def _is_merged(self, pairs: Iterable[tuple[str, str]], of: str | None) -> bool:
        """Whether one of an event's members was merged into another after the event, or its correction, counted."""
        return any(self.accepted.get(str(of), 0) < self._merged.get(pair, 0) for pair in pairs)

    def _of(self, pair: tuple[str, str]) -> list[Any]:
        """What counts for a member."""
        return [one for one in self.models[pair[0]].counted if one.member == pair[1] and one.taken is None]

    def posted(self, event_id: str) -> None:
        """Keep when an event was sent last."""
        self._posted[event_id] = self._store.now

    def _accept_again(self, event: Sent) -> None:
        """Check that an event may count again."""
        counted, sent = self.accepted[event.id], self._posted[event.id]
        removed = [self._removed.get(key, 0) for key in event.updates]
        merged = [self._merged.get(key, 0) for key in event.updates]
        if not all(counted < at < sent for at in removed) or any(counted < at for at in merged):
            self.differ(f"event {event.id} counted twice: at {counted}, with removals at {removed}, sent at {sent}")
        current = self.current[event.id]
        if current is None or (current.at, current.updates) != (event.at, event.updates):
            self.differ(f"event {event.id} counted again although other content counts in its place")
        self._trap("counted again after a removal")

    def lost(self, event: Sent, clocks_differ: int) -> bool:
        """Whether an event was sent after all its members were removed, and did not count again.

        One that was corrected stays known if other content counts.
        """
        if event.corrects is not None or self.current[event.id] is not event:
            return False
        minute, counted = 60_000_000, self.accepted[event.id]
        removed = [self._removed.get(key, 0) for key in event.updates]
        sent = self._posted[event.id] - minute - 2 * clocks_differ
        if any(key in self._merged for key in event.updates) or not self._ends.was_open(event, self._posted[event.id]):
            return False
        return all(counted + 2 * clocks_differ < at < sent for at in removed)

    def _record_traps(self, board: str, model: BoardModel, now: datetime) -> None:
        """Record the traps around midnight, time zones and late events that an event has met."""
        calendar = model.calendar
        before = self._latest.setdefault(board, now)
        self._latest[board] = now
        today = calendar.bucket("day", now)
        if today != calendar.bucket("day", before) and abs(now - before) < timedelta(minutes=5):
            self._trap("midnight")
        if calendar.end("day", today) - calendar.start(today) != timedelta(days=1):
            self._trap("clocks of a zone change")
        last = model.counted[-1]
        if "day" not in last.buckets:
            self._trap("late event")
        for window in {window for metric in model.metrics.values() for window in metric.windows} - {"all", *ENDING}:
            if unit(window) not in last.buckets and last.counts(window, now, calendar.held(window, now)):
                self._trap("late event in a rolling window")
                if any(not last.counts(window, on, calendar.held(window, on)) for on in calendar.earlier(window, now)):
                    self._trap("late event beside a closed period")

    def refused(self, sent: Sent, reasons: Sequence[str]) -> None:
        """Check that a good event was refused only for reasons that can apply to it."""
        for reason in reasons if sent.good else ():
            board = next(iter(sent.updates), ("", ""))[0]
            possible = [
                "was used before, for an event with other content" in reason,
                "is being deleted" in reason,
                ENDED in reason,
                "is not registered" in reason and any(self.models[name].registered for name, _ in sent.updates),
                "no family in boards.toml matches" in reason and board not in {f.name for f in self._shape.families},
                sent.corrects is not None and self._may_refuse(sent, reason),
            ]
            if not any(possible):
                self.differ(f"event {sent.id} was refused without cause: {reason}")

    def _may_refuse(self, sent: Sent, reason: str) -> bool:
        """Whether a correction may have been refused for this reason."""
        return any(
            [
                "aggregate sum in a correction" in reason or "another aggregate than sum" in reason,
                "was removed from board" in reason and bool(self._removed),
                "was merged into another" in reason and any(self._merged.get(pair) for pair in self._pairs_of(sent)),
                "has closed" in reason,
                "means something else" in reason and bool(self._shape.later),
                "it has not counted" in reason,
                "30 days ago" in reason,
            ]
        )

    def _pairs_of(self, sent: Sent) -> Collection[tuple[str, str]]:
        """The boards and members of what counts of the event that one corrects."""
        current = self.current.get(str(sent.corrects))
        return () if current is None else current.updates.keys()

    def refusing(self, sent: Sent, reason: str) -> None:
        """Check that a correction is not refused as too early long after its event has counted.

        No event is refused for the end of a board that has not ended, or if it had counted before.
        """
        minute = 60_000_000
        if ENDED in reason:
            self._ends.refused(sent, self.accepted.get(sent.id) if self.current.get(sent.id) is sent else None)
        if "it has not counted" in reason and self._store.now - self.accepted.get(str(sent.corrects), 10**18) > minute:
            self.differ(f"{sent.id} was refused: {reason}")

    def _instant(
        self,
        call: Call,
        changed: Mapping[tuple[str, str], tuple[Any, Any]],
        keys: Collection[tuple[str, str]],
        stamps: Collection[int],
    ) -> int:
        """Return the timestamp of a transaction that counts events of some members, and check that items have it.

        `stamps` are those of its receipts. Where boards end, a writer that has decided reads the clock once more for
        each item that it reads again.
        """
        olds = [changed[key][0] if key in changed else self._item(*key) for key in keys]
        latest = [old["t"] for old in olds if old is not None]
        readings = [call.reading, *(call.process.readings if self._ends.happen else ())]
        possible: list[int] = [max([one, *latest]) for one in readings]
        expected = next((at for at in possible if at in stamps), possible[0])
        for key, (_, new) in changed.items():
            if new is None or new["t"] != expected:
                self.differ(f"{key}: expected the timestamp {expected}, got {new and new['t']}")
        return expected

    def _item(self, board: str, member: str) -> Any:
        return self._store.item("Scores", **dict(zip(("pk", "sk"), member_key(board, member), strict=True)))

    def edited(self, edit: Edit) -> None:
        model = self.models[edit.board]
        if edit.remove:
            model.remove(edit.member)
            # Of an item that somebody deletes by hand, nothing says that the member was removed.
            is_gone = self._item(edit.board, edit.member) is None
            self._removed[edit.board, edit.member] = 0 if is_gone else self._store.now
        else:
            model.put(edit.member, hidden=edit.hidden)

    def merged(self, merge: Merge) -> None:
        """Count all that a member has for another one. The commit has just been made."""
        key = merge.board, merge.old
        if not self.models[merge.board].merge(merge.old, merge.new):
            self.differ(f"{key} was merged, although it is not there")
        self._removed[key] = self._merged[key] = self._store.now
        self._trap("a member is merged into another one")

    def differ(self, difference: str) -> None:
        self.differences.append(difference)

    def projected(self, writes: Sequence[Write]) -> None:
        """Check that no counter in a commit to Rankings is below zero, summed over its lanes."""
        for table, _, new in writes:
            # Entries of a log may be folded before earlier ones of another log.
            if table != "Rankings" or new is None or "p0" in new or "p1" in new or "p2" in new or "p3" in new:
                continue
            for name, value in new.items():
                if type(value) is int and value < 0 and DIGITS.get(name) is not None:
                    node = new["pk"].rpartition("+")[0] or new["pk"]
                    lanes = [self._store.item(table, pk=node + suffix) for suffix in LANES]
                    total = sum(lane.get(name, 0) for lane in lanes if lane is not None)
                    if total < 0:
                        self.differ(f"{node}: expected counter {name} to be 0 or more, got {total}")

    def compare(self, now: int, *, later: bool = False) -> None:
        """Compare every ranking that is readable at an instant in milliseconds, and those of future periods.

        The list of rankings comes from the shape and the model, so a ranking that the product forgets is compared too.
        Set `later` if the later definition is deployed, with or without the first. A ranking that all deployed
        definitions have must be complete. For the others the board record decides whether they are complete. The
        record also names the generation that is read.
        """
        stored = Stored(item for item in self._store.items("Rankings") if self._ends.counts(item))
        self.differences += stored.wrong
        families = self._shape.later if later else self._shape.families
        for family in (one for one in families if self._ends.is_open(one.name)):
            records = (self._store.item("Scores", pk=pk, sk=family.name) for pk in (BOARDS, DELETED_BOARDS))
            item = next((one for one in records if one is not None), None)
            if item is None:
                if self.models[family.name].counted:
                    self.differ(f"{family.name}: has events but no board record")
                continue
            record = decode_record(encode_item(item))
            whole = self._shape.common(family.name) if later else family.ranked
            for ranking, on in self._rankings(family, _instant(now)):
                if not record.coverage.holds(ranking):
                    if (ranking.metric.name, ranking.window.name) in whole:
                        self.differ(f"{ranking.key}: is not complete by {record.coverage}")
                    continue
                read = ranking._replace(generation=record.generation)
                self.differences += stored.twice.get(read.key, [])
                self._compare_notes(ranking, on)
                expected = dict(self._expected(read, on))
                counted = stored.counted.get(read.key, Counter())
                self._compare(read, expected, stored.placed.get(read.key, {}), counted)
                if ranking.window.rolling:
                    self._compare(read, expected, stored.rows(rolling_of(read).key, read.period), counted)
                if record.job is None:
                    self._check_old_generations(ranking, record, stored)

    def _check_old_generations(self, ranking: Ranking, record: BoardRecord, stored: Stored) -> None:
        """Check that no generation but the current one has entries, once no task is under way.

        Where boards end, generations count on from the minute in which the board began.
        """
        for generation in range(max(0, record.latest - MOST_REBUILDS), record.latest + 1):
            other = ranking._replace(generation=generation).key
            if generation != record.generation and (stored.placed.get(other) or stored.counted.get(other)):
                self.differ(f"{other}: has entries of an old generation")

    def _rankings(self, family: "Family", now: datetime) -> Iterator[tuple[Ranking, datetime]]:
        """Yield the rankings of a board, each with an instant in its period, or in the last bucket of a rolling one."""
        calendar = self.models[family.name].calendar
        (known,) = boards_of(family.text()).families
        for name, window_name in sorted(family.ranked):
            metric, window = known.metrics[name], parse_window(window_name)
            # An event at `now` counts in one period for each bucket of the window. Events may also be one bucket ahead.
            ahead = islice(calendar.later(window_name, now), window.size)
            for on in (now, *calendar.earlier(window_name, now), *ahead):
                milliseconds = (on - EPOCH) // timedelta(milliseconds=1)
                period = 0 if window.unit is None else metric.timetable.index(window.unit, milliseconds)
                yield Ranking(family.name, metric, window, period), on

    def _expected(self, ranking: Ranking, on: datetime) -> Iterator[tuple[str, tuple[str, Place]]]:
        for entry in self.models[ranking.board].listing(ranking.metric.name, ranking.window.name, on).placed:
            since = LONG_AGO if entry.since == float("-inf") else int(entry.since)
            numbers = zip((ranking.metric, *ranking.metric.tie_breaks), (entry.score, *entry.tie_breaks), strict=True)
            values = tuple(
                MISSING if units is None else sort_value(units, descending=metric.descending)
                for metric, units in numbers
            )
            place = Place(values, since if ranking.metric.ties_by_instant else None)
            yield entry.member, (sort_key(place, entry.member), place)

    def _compare_notes(self, ranking: Ranking, on: datetime) -> None:
        """Compare the note of each member with a score in a period. Hidden members keep theirs."""
        model, metric, window = self.models[ranking.board], ranking.metric, ranking.window
        for member in sorted(model.members) if metric.notes else ():
            if model.score(metric.name, window.name, on, member) is None:
                continue
            partition, sort = member_key(ranking.board, member)
            item = self._store.item("Scores", pk=partition, sk=sort)
            image = None if item is None else decode_image(encode_item(item))
            aggregate = None if image is None else aggregate_in_period(image, metric, window, ranking.period)
            found = orjson.loads(aggregate.note) if aggregate is not None and aggregate.note else None
            expected = model.note(metric.name, window.name, on, member)
            self.noted += expected is not None
            if found != expected:
                self.differ(f"{ranking.key}: expected {member} to have the note {expected}, got {found}")

    def _compare(
        self, ranking: Ranking, expected: Mapping[str, tuple[str, Place]], placed: Mapping[str, str], counted: Counters
    ) -> None:
        for member in sorted(expected.keys() | placed.keys()):
            key = expected[member][0] if member in expected else None
            if key != placed.get(member):
                self.differ(f"{ranking.key}: expected {member} at {key!r}, got {placed.get(member)!r}")
        counts: Counters = Counter()
        for _, place in expected.values():
            digits = path(place.values)
            counts.update((digits[:length], digit) for length, digit in enumerate(digits))
        if counts != counted:
            off = {key: counted[key] - counts[key] for key in {*counts, *counted} if counts[key] != counted[key]}
            self.differ(f"{ranking.key}: counters are off by {sorted(off.items())}")


def _instant(milliseconds: int) -> datetime:
    return EPOCH + timedelta(milliseconds=milliseconds)
