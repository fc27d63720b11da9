"""A board for audits, with random events, hides and removals, also while an audit or a rebuild runs; and its damages.

Rankings are damaged in every way that an audit names, at random places. What an audit must find follows from the items
before and after.
"""

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, NamedTuple

from standings.aws.dynamodb.tables import COUNTERS, entry_key, index_key, log_key, node_key, shard_of
from standings.domain.boards import Boards, Ranking
from standings.domain.members import open_rankings
from standings.domain.scoring import MISSING, Place, decode_sort_key, sort_key
from standings.domain.tiers import ROOT, Path, path, prefixes
from standings.rankings.rolling.steps import (
    Block,
    RollingRankings,
    Step,
    Steps,
    blocks_within,
    decode_entry,
    decode_steps,
    encode_entry,
    encode_steps,
    list_key,
    lists_of,
    rolling_of,
)
from tests.support.aws.stack import ManualClock, Stack, write
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import rows
from tests.support.builders.maintenance import apart, calls
from tests.support.builders.points import family
from tests.support.builders.stored import Counters, Stored
from tests.support.dynamodb.items import decode_item
from tests.support.faults import faulty_client

BOARD = "b"
FAMILY = """
[boards."*"]
late = "1 day"
keep = "1 day"
shards = {shards}
[boards."*".metrics.points]
aggregate = "sum"
ties = "{ties}"
tie_breaks = {tie_breaks}
windows = ["all", "day", "last-3-days"]
[boards."*".metrics]
best = {{ aggregate = "max", windows = ["all"] }}
runs = {{ aggregate = "sum", order = "ascending" }}
level = {{ aggregate = "last" }}
"""
SCORES = (-300, -1, 0, 1, 2, 2, 3, 7, 127, 128, 300, 20_000, 3_000_000)
MUCH = 300
"""So many events in one test are enough: from then on few follow."""

NOW = 1_795_256_100_000
UNREADABLE = ("?", "~~", "P", "\u00e9", "zzz")
"""Sort keys that no entry has."""

Finding = tuple[str, str, str]
"""A kind, a ranking, and a member or `node:digit:off`."""


@dataclass
class Audited:
    """A board with its functions and its clock."""

    stack: Stack
    rng: random.Random
    boards: Boards
    posted: int = 0

    @property
    def engine(self) -> Any:
        return self.stack.dynamodb

    @property
    def clock(self) -> ManualClock:
        return self.stack.clock

    def rankings(self) -> list[Ranking]:
        """All rankings that can be read."""
        now = self.clock()
        return [
            ranking
            for ranking in open_rankings(family(BOARD, self.boards), BOARD, now)
            if ranking.readable_until is None or now < ranking.readable_until
        ]

    def counters_off(self, generation: int = 0) -> set[Finding]:
        """The counters that differ from what they count."""
        return counters_off(self.engine, [one._replace(generation=generation) for one in self.rankings()])

    def happen(self, member: str) -> None:
        """A member gets an event, or is hidden, shown or removed."""
        rng, stack = self.rng, self.stack
        what = rng.random()
        if what < 0.85:
            self.posted += 1
            at = datetime.fromtimestamp((self.clock() - rng.choice([0, 0, 0, 86_400_000])) / 1000, UTC)
            metrics = {rng.choice(["points", "points", "best"]): rng.choice(SCORES), "runs": self.posted % 3}
            metrics |= {"level": self.posted % 2} if self.posted % 4 == 0 else {}
            event = {"id": f"e{self.posted}", "board": BOARD, "member": member, "metrics": metrics}
            write(stack, [{**event, "at": at.isoformat()}])
        elif what < 0.95:
            assert stack.put(f"/boards/{BOARD}/member", {"hidden": rng.random() < 0.7}, id=member)[0] == 200
        else:
            assert stack.delete(f"/boards/{BOARD}/member", id=member)[0] in {204, 404}

    def project(self, most: int = 10_000) -> None:
        """Project up to `most` records of each shard of the stream."""
        for number, shard in enumerate(self.engine.stream("Scores")):
            done = self.stack.projected.get(number, 0)
            batch = shard[done : done + most]
            if batch:
                assert self.stack.projector({"Records": batch}, Context()) == {"batchItemFailures": []}
            self.stack.projected[number] = done + len(batch)

    def audit(self, seconds: float = 1_000) -> list[dict[str, Any]]:
        """Audit the board call by call, and return the reports."""
        return [
            report for answer in calls(self.stack, "audit", board=BOARD, seconds=seconds) for report in answer["boards"]
        ]


def populate(audited: Audited, members: int, events: int) -> None:
    """Make events, hides and removals, project them all, and let an hour pass."""
    for _ in range(events):
        audited.happen(f"m{audited.rng.randrange(members)}")
        audited.clock.milliseconds += 7
    audited.project()
    if audited.rng.random() < 0.5:
        _use_lanes(audited)
    audited.clock.milliseconds += 3_600_000


def _use_lanes(audited: Audited) -> None:
    """Spread counters over lanes: only their sum means anything."""
    rng = audited.rng
    for ranking in audited.rankings():
        if ranking.window.rolling:
            continue
        lanes = rng.choice([2, 4])
        if counted := counted_in(rows(audited.engine, "Rankings"), ranking):
            audited.engine.update_item(
                TableName="Rankings",
                Key={"pk": {"S": node_key(ranking.key, ROOT)}},
                UpdateExpression="SET l = :l",
                ExpressionAttributeValues={":l": {"N": str(lanes)}},
            )
        for node, digit in counted:
            count = rng.choice([-3, 0, 1])
            add_to_counter(audited.engine, ranking, node, digit, count)
            add_to_counter(audited.engine, ranking, node, digit, -count, rng.randrange(1, lanes))


def lag(audited: Audited, milliseconds: int) -> None:
    """Delay each change of a row in the sorted index."""
    index = audited.engine._tables["Rankings"].indexes["places"]
    index.bring_in()
    index.clock = lambda: audited.clock() / 1000
    index.behind = milliseconds / 1000


@contextmanager
def traffic(audited: Audited, chance: float, members: str = "x", step: int = 30) -> Iterator[None]:
    """Before each call of the store the clock goes on by up to `step` milliseconds, and by chance events happen.

    They are of a few members, whose names begin with `members`. Now and then a read of one moment meets a conflict.
    """
    rng, at_it = audited.rng, threading.Lock()

    def happen() -> None:
        if rng.random() < (chance if audited.posted < MUCH else min(chance, 0.02)):
            for _ in range(rng.randint(1, 3)):
                audited.happen(f"{members}{rng.randrange(8)}")
            if rng.random() < 0.8:
                audited.project(rng.choice([1, 2, 10_000]))

    def before(operation: str, request: dict[str, Any]) -> None:
        # The calls of these events make no further events.
        if not at_it.acquire(blocking=False):
            return
        try:
            audited.clock.milliseconds += rng.randrange(step)
            with apart():
                happen()
        finally:
            at_it.release()
        if operation == "TransactGetItems" and rng.random() < chance / 4:
            raise faulty_client.cancelled(["TransactionConflict", *["None"] * (len(request["TransactItems"]) - 1)])

    audited.engine.before.append(before)
    yield
    audited.engine.before.remove(before)


def findings(answers: list[dict[str, Any]]) -> list[Finding]:
    """All differences that an audit has named."""
    found: list[Finding] = []
    for answer in answers:
        assert answer["drift"] == len(answer["examples"]), "examples were left out"
        for example in answer["examples"]:
            what = example.get("member") or example.get("log")
            if what is None:
                what = f"{example['node']}:{example['digit']}:{example['counted'] - example['there']}"
            found.append((example["kind"], example["ranking"], what))
    return found


# ---- counters that are wrong, from all items of the table: independent of the audit


def add_to_counter(engine: Any, ranking: Ranking, node: Path, digit: int, count: int, lane: int = 0) -> None:
    """Add to a counter, whatever it counts."""
    engine.update_item(
        TableName="Rankings",
        Key={"pk": {"S": node_key(ranking.key, node, lane)}},
        UpdateExpression=f"SET t = if_not_exists(t, :t) ADD {COUNTERS[digit]} :n",
        ExpressionAttributeValues={":n": {"N": str(count)}, ":t": {"N": str(NOW)}},
    )


def counters_off(engine: Any, rankings: list[Ranking]) -> set[Finding]:
    """The counters that differ from what they count.

    A leaf's counter counts entries; another node's counter is the sum of its child's counters.
    """
    wrong: set[Finding] = set()
    items = rows(engine, "Rankings")
    for ranking in rankings:
        counted, below = counted_in(items, ranking), Counter(_entries(items, ranking))
        for (node, _), count in counted.items():
            if node != ROOT:
                below[node[:-1], node[-1]] += count
        for node, digit in counted.keys() | below.keys():
            if off := counted[node, digit] - below[node, digit]:
                wrong.add(("counter", ranking.key, f"{bytes(node).hex()}:{digit}:{off}"))
    return wrong


def counted_in(items: list[dict[str, Any]], ranking: Ranking) -> Counters:
    """The counters of a ranking that are not 0: its nodes' in the lanes in use, with the log of a rolling window."""
    nodes = {item["pk"]["S"]: decode_item(item) for item in items if item["pk"]["S"].startswith(f"{ranking.key}/")}
    lanes = nodes.get(node_key(ranking.key, ROOT), {}).get("l", 1)
    used = [item for key, item in nodes.items() if int(key.partition("+")[2] or 0) < lanes]
    if ranking.window.rolling:
        log = log_key(rolling_of(ranking).key, 0)
        used += [decode_item(item) for item in items if item["pk"]["S"] == log]
    return Stored(used).counted.get(ranking.key, Counter())


def _entries(items: list[dict[str, Any]], ranking: Ranking) -> Iterator[tuple[Path, int]]:
    """The leaf and digit of each readable entry, in the shards that are in use."""
    partitions = {index_key(key, shard) for key in lists_of(ranking) for shard in range(ranking.metric.shards)}
    for item in items:
        if "s" in item and item["r"]["S"] in partitions and item["s"]["S"] not in UNREADABLE:
            place, _ = decode_sort_key(item["s"]["S"], ranking.metric)
            *leaf, digit = path(place.values)
            yield tuple(leaf), digit


Item = dict[str, Any]
OFF: Final = (-200, -1, 1, 5)
"""How far a wrong sort value is off."""


class Row(NamedTuple):
    """An item to damage: of a member in a ranking, in a list of a rolling window, or in all periods of the window."""

    damages: "Damages"
    ranking: Ranking | RollingRankings
    member: str
    item: Item
    key: str
    """The key of the ranking, the list or the window."""
    step: Step = Step(0, 0, Place((0,)))
    """In a window's row that is shown: one step that can be read."""

    def one_of(self, *values: Any) -> Any:
        return self.damages.rng.choice(values)

    def some_place(self) -> Place:
        return self.damages.some_place(self.ranking)

    def indexed(self) -> Item:
        """The attributes of an entry in the index, with some score."""
        shard = shard_of(self.member, self.ranking.metric.shards)
        return {"r": {"S": index_key(self.key, shard)}, "s": {"S": sort_key(self.some_place(), self.member)}}

    def without(self, *names: str) -> Item:
        return {name: value for name, value in self.item.items() if name not in names}

    def moved(self) -> Item:
        """The item with another sort key, of another score or another instant."""
        there, _ = decode_sort_key(self.item["s"]["S"], self.ranking.metric)
        other = there._replace(values=(there.values[0] + self.one_of(*OFF), *there.values[1:]))
        if there.since is not None and self.one_of(True, False):
            other = there._replace(since=there.since + 1)
        return {**self.item, "s": {"S": sort_key(other, self.member)}}

    def elsewhere(self) -> Item:
        """The item in a wrong shard, in use or not."""
        homes = {0, shard_of(self.member, self.ranking.metric.shards)}
        return {**self.item, "r": {"S": index_key(self.key, self.one_of(*(n for n in (0, 1, 2, 9) if n not in homes)))}}

    def later(self) -> Item:
        """The item with a version that its member's item has not reached."""
        return {**self.item, "v": {"N": str(int(self.item["v"]["N"]) + self.one_of(1, 10**9))}}

    def shown(self) -> list[Any]:
        """What readers see of a row: steps that can be read, or the entry in the index."""
        if "p" not in self.item:
            return [self.item["s"]] if "s" in self.item else []
        return [step for step in self.steps() if step.until > self.damages.periods()[0]]

    def steps(self) -> list[Step]:
        return list(decode_steps(self.item["p"]["S"]).steps)

    def with_steps(self, *steps: Step) -> Item:
        return {**self.item, "p": {"S": encode_steps(Steps(decode_steps(self.item["p"]["S"]).low, steps))}}

    def with_other_step(self) -> Item:
        place = self.step.place._replace(
            values=(self.step.place.values[0] + self.one_of(*OFF), *self.step.place.values[1:])
        )
        return self.with_steps(*(step._replace(place=place) if step == self.step else step for step in self.steps()))

    def with_another_step(self) -> Item:
        end = self.steps()[-1].until
        return self.with_steps(*self.steps(), Step(end, end + 1, self.some_place()))

    def blocks(self, *steps: Step) -> list[Block]:
        """The blocks of some steps of a window's row that reach to a period that can be read."""
        assert isinstance(self.ranking, RollingRankings)
        low = self.damages.periods()[0]
        return list(Steps(low, steps).by_block(self.ranking.window, low))


UNREADABLE_STEPS: Final = ("", "[", "[1,2]", '[0,["a",1,1]]', '[0,[0,1,"a"]]', "[0,[0,9999999999,1]]")
IN_THE_INDEX: Final[dict[str, Callable[[Row], Item | None]]] = {
    "is deleted": lambda _: None,
    "has no sort key": lambda row: row.without("r", "s"),
    "has another sort key": Row.moved,
    "has an unreadable sort key": lambda row: {**row.item, "s": {"S": row.one_of(*UNREADABLE)}},
    "is in another shard": Row.elsewhere,
    "is newer than the member's item": Row.later,
}
"""Damages of a member's row, or of an item in a list of a rolling window. None: the item is deleted."""
IN_A_WINDOW: Final[dict[str, Callable[[Row], Item | None]]] = {
    "is deleted": lambda _: None,
    "lacks a step": lambda row: row.with_steps(*(step for step in row.steps() if step != row.step)),
    "has another score in a step": Row.with_other_step,
    "has a step more": Row.with_another_step,
    "is unreadable": lambda row: {**row.item, "p": {"S": row.one_of(*UNREADABLE_STEPS)}},
    "is newer than its item": Row.later,
}
"""Damages of a member's row in a rolling window."""


def _with_entries(log: Item, *entries: Any) -> Item:
    return {**log, "l": {"L": [*entries]}, "z": {"N": str(sum(len(entry["S"]) for entry in entries))}}


def _with_wrong_entry(audited: Audited, log: Item) -> Item:
    """The log with an entry that says something else."""
    texts = [text["S"] for text in log["l"]["L"]]
    at = audited.rng.randrange(len(texts))
    entry = decode_entry(texts[at])
    last = max(entry.changes, key=lambda change: change.until)
    score, *others = last.new or (0,) * len(last.old or ())
    wrong = last._replace(new=(score + 1000, *others))
    changes = [wrong if change == last else change for change in entry.changes]
    texts[at] = encode_entry(entry._replace(changes=changes))
    return _with_entries(log, *({"S": text} for text in texts))


LOGS: Final[dict[str, Callable[[Audited, Item], Item]]] = {
    "cut short": lambda _, log: {**log, "l": {"L": log["l"]["L"][:-1]}},
    "cut in front": lambda _, log: {**log, "l": {"L": log["l"]["L"][1:]}, "b": {"N": str(int(log["b"]["N"]) + 1)}},
    "unreadable": lambda audited, log: _with_entries(
        log, *log["l"]["L"], {"S": audited.rng.choice(["", "{}", "[1,2]", '[1,0,1,"a",2]', f"[1,0,1,null,{2**60}]"])}
    ),
    "without a base": lambda _, log: {name: value for name, value in log.items() if name != "b"},
    "without a list": lambda _, log: {**log, "l": {"S": "[]"}},
    "an entry twice": lambda _, log: _with_entries(log, *log["l"]["L"], log["l"]["L"][0]),
    "a wrong entry": _with_wrong_entry,
}
"""The log of a rolling window. The last two can be read: counters are wrong by what they say."""


class Damages:
    """Damages what is audited. `expected` compares with the items as they were before."""

    def __init__(self, audited: Audited) -> None:
        self.rng = audited.rng
        self._audited = audited
        self._before = self._items()
        self._damaged: set[str] = set()

    @property
    def expected(self) -> set[Finding]:
        """How an audit must name the rows and list items that differ. `Audited.counters_off` finds wrong counters."""
        before, after = self._before, self._items()
        keys = [key for key in before | after if "/" not in key and before.get(key) != after.get(key)]
        return {self._finding(key, before.get(key, {}), after.get(key, {})) for key in keys} - {None}

    def _finding(self, key: str, old: Item, new: Item) -> Any:
        place, _, member = key.rpartition("#")
        if place == self.window().key:
            return self._of_steps(member, old, new) if old else None  # Of nobody, the list item is named
        if old.get("s") != new.get("s"):
            kind = "phantom" if "s" not in old else "wrong" if "s" in new else "missing"
        else:
            kind = "misplaced" if old["r"] != new["r"] else "version"
        if kind != "misplaced" and place not in {ranking.key for ranking in self._rankings(rolling=False)}:
            # In a list. A phantom is of nobody, and has a row too.
            row = entry_key(self.window().key, member)
            kind = "phantom" if row not in self._before and row in self._items() else "wrong-list-item"
        return kind, place, member

    def _of_steps(self, member: str, old: Item, new: Item) -> Finding:
        """The first period that differs, or else the first one that can be read: another version alone."""
        low, is_unreadable = self.periods()[0], False
        was = now = decode_steps(old["p"]["S"])
        try:
            now = decode_steps(new["p"]["S"]) if new else Steps(low)
        except ValueError:
            now, is_unreadable = Steps(low), True
        kind, at = "version", low
        for period in range(low, max([low, *(step.until for step in (*was.steps, *now.steps))])):
            places = was.place(period), now.place(period)
            if places[0] != places[1]:
                at = period
                kind = "wrong" if is_unreadable or None not in places else "missing" if places[0] else "phantom"
                break
        return kind, self.window().at(at).key, member

    def damage_log(self, kind: str) -> str:
        """Damage the log of the rolling window, and return its key."""
        key = log_key(self.window().key, 0)
        log = self._items()[key]
        assert log["l"]["L"]
        self._put(LOGS[kind](self._audited, log))
        return key

    def window(self) -> RollingRankings:
        """The only rolling window."""
        return rolling_of(self._rankings(rolling=True)[0])

    def periods(self) -> list[int]:
        """The periods of the rolling window that can be read."""
        return sorted(ranking.period for ranking in self._rankings(rolling=True))

    def some_place(self, ranking: Ranking | RollingRankings) -> Place:
        others = (self.rng.choice((-1, 0, 300, MISSING)) for _ in ranking.metric.tie_breaks)
        return Place((self.rng.choice(SCORES), *others), NOW if ranking.metric.ties_by_instant else None)

    def _rankings(self, *, rolling: bool) -> list[Ranking]:
        return [ranking for ranking in self._audited.rankings() if bool(ranking.window.rolling) is rolling]

    def _items(self) -> dict[str, Item]:
        return {item["pk"]["S"]: item for item in rows(self._audited.engine, "Rankings")}

    def _put(self, item: Item) -> None:
        self._audited.engine.put_item(TableName="Rankings", Item=item)

    def _row(self, rankings: Sequence[Ranking | RollingRankings], *, shown: bool) -> Row | None:
        """A member's row that is not damaged yet and that readers see or do not; None if there is none."""
        of, found = {ranking.key: ranking for ranking in rankings}, []
        for pk, item in self._items().items():
            key, _, member = pk.rpartition("#")
            if key in of and member.startswith("m") and pk not in self._damaged:
                found.append(Row(self, of[key], member, item, key))
        found = [row for row in found if bool(row.shown()) is shown]
        if not found:
            return None
        row = self.rng.choice(found)
        self._damaged.add(row.item["pk"]["S"])
        return row._replace(step=self.rng.choice(row.shown())) if "p" in row.item and shown else row

    def _change(self, where: str, change: Callable[[Row], Item | None]) -> None:
        is_calendar = where == "a row"
        row = self._row(self._rankings(rolling=False) if is_calendar else [self.window()], shown=True)
        if row is None:
            return
        if where == "a list item":
            key = list_key(self.window(), self.rng.choice(row.blocks(row.step)))
            row = row._replace(item=self._items()[entry_key(key, row.member)], key=key)
        if (item := change(row)) is not None:
            self._put(item)
        else:
            self._audited.engine.delete_item(TableName="Rankings", Key={"pk": row.item["pk"]})

    def _make(self, ranking: Ranking | RollingRankings, key: str, member: str) -> tuple[Item, Place]:
        """Put an entry of a member into the index; returns its row and its place."""
        row = {"pk": {"S": entry_key(key, member)}, "v": {"N": "1"}, "t": {"N": str(NOW)}}
        entry = Row(self, ranking, member, row, key).indexed()
        self._put({**row, **entry})
        return row, decode_sort_key(entry["s"]["S"], ranking.metric)[0]

    def _nobody(self) -> str:
        return f"ghost-{len(self._items())}"

    def _perhaps_counted(self, ranking: Ranking, place: Place) -> None:
        if self.rng.random() < 0.5:
            for node in prefixes(path(place.values)):
                add_to_counter(self._audited.engine, ranking, node, path(place.values)[len(node)], 1)

    def _entry_of_nobody(self) -> None:
        ranking = self.rng.choice(self._rankings(rolling=False))
        _, place = self._make(ranking, ranking.key, self._nobody())
        self._perhaps_counted(ranking, place)

    def _entry_of_someone_hidden(self) -> None:
        if row := self._row(self._rankings(rolling=False), shown=False):
            self._put({**row.item, **row.indexed()})

    def _steps_of_someone_hidden(self) -> None:
        if row := self._row([self.window()], shown=False):
            low = self.periods()[0]
            self._put(row.with_steps(Step(low, low + 2, row.some_place())))

    def _list_item_of_nobody(self, *, placed: bool = False) -> None:
        window, member, period = self.window(), self._nobody(), self.rng.choice(self.periods())
        block = Block(period, 1) if placed else self.rng.choice([*blocks_within(window.window, period, period + 1)])
        row, place = self._make(window, list_key(window, block), member)
        self._perhaps_counted(window.at(period), place)
        if placed:
            steps = encode_steps(Steps(period, (Step(period, period + 1, place),)))
            self._put({**row, "pk": {"S": entry_key(window.key, member)}, "p": {"S": steps}})

    def _list_item_without_a_step(self) -> None:
        if row := self._row([self.window()], shown=True):
            first, *_, last = self.periods()
            blocks = {*blocks_within(self.window().window, first, last + 1)} - {*row.blocks(*row.steps())}
            self._make(row.ranking, list_key(self.window(), self.rng.choice(sorted(blocks))), row.member)

    def _node(self, *, is_deleted: bool) -> None:
        """Change a counter of the root, of an inner node or of a leaf, or delete such a node."""
        ranking = self.rng.choice(self._audited.rankings())
        if counters := [*counted_in([*self._items().values()], ranking)]:
            node, digit = self.rng.choice(counters)
            if is_deleted:
                self._audited.engine.delete_item(TableName="Rankings", Key={"pk": {"S": node_key(ranking.key, node)}})
            else:
                add_to_counter(self._audited.engine, ranking, node, digit, self.rng.choice([-2, -1, 1, 1, 40]))

    def _nodes_below_a_counter_of_0(self) -> None:
        ranking = self.rng.choice(self._audited.rankings())
        way = path((self.rng.choice([40_000, -40_000, 77, 5_000_000]),))
        length = self.rng.randrange(1, len(way))
        for node in prefixes(way[: length + 1]):
            add_to_counter(self._audited.engine, ranking, node, way[len(node)], 3 if len(node) == length else 0)


KINDS: Final[dict[str, Callable[[Damages], None]]] = {  # Each does nothing where nothing is left to be damaged
    **{
        f"{where} {what}": partial(Damages._change, where=where, change=change)
        for where, changes in (("a row", IN_THE_INDEX), ("a window's row", IN_A_WINDOW), ("a list item", IN_THE_INDEX))
        for what, change in changes.items()
    },
    "an entry of nobody": Damages._entry_of_nobody,
    "an entry of someone hidden": Damages._entry_of_someone_hidden,
    "steps of someone hidden": Damages._steps_of_someone_hidden,
    "a list item of nobody": Damages._list_item_of_nobody,
    "a row and a list item of nobody": partial(Damages._list_item_of_nobody, placed=True),
    "a list item that no step leads to": Damages._list_item_without_a_step,
    "a wrong counter": partial(Damages._node, is_deleted=False),
    "a node is deleted": partial(Damages._node, is_deleted=True),
    "nodes below a counter of 0": Damages._nodes_below_a_counter_of_0,
}
