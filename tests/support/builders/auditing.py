"""A board for audits, with random events, hides and removals, also while an audit or a rebuild runs; and its damages.

Rankings are damaged in every way that an audit names, at random places. The tables give for each damage the kind of the
finding, and what becomes of the item (None: it is deleted).
"""

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from standings.aws.dynamodb.tables import COUNTERS, entry_key, index_key, log_key, node_key, shard_of
from standings.domain.boards import Boards, Ranking
from standings.domain.members import open_rankings
from standings.domain.scoring import Place, decode_sort_key, sort_key
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
metrics.points = {{ aggregate = "sum", ties = "{ties}", windows = ["all", "day", "last-3-days"] }}
metrics.best = {{ aggregate = "max", windows = ["all"] }}
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
            metrics = {rng.choice(["points", "points", "best"]): rng.choice(SCORES)}
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
        for node, counters in nodes_of(audited.engine, ranking).items():
            if node == ROOT:
                audited.engine.update_item(
                    TableName="Rankings",
                    Key={"pk": {"S": node_key(ranking.key, ROOT)}},
                    UpdateExpression="SET l = :l",
                    ExpressionAttributeValues={":l": {"N": str(lanes)}},
                )
            for digit in counters:
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


def nodes_of(engine: Any, ranking: Ranking) -> dict[Path, dict[int, int]]:
    """The counters of a ranking's nodes that are not 0. In a rolling window, they are those at the end of its log."""
    found: dict[Path, dict[int, int]] = {}
    for (node, digit), count in _counted(rows(engine, "Rankings"), ranking).items():
        found.setdefault(node, {})[digit] = count
    return found


def counters_off(engine: Any, rankings: list[Ranking]) -> set[Finding]:
    """The counters that differ from what they count.

    A leaf's counter counts entries; another node's counter is the sum of its child's counters.
    """
    wrong: set[Finding] = set()
    items = rows(engine, "Rankings")
    for ranking in rankings:
        counted, below = _counted(items, ranking), Counter(_entries(items, ranking))
        for (node, _), count in counted.items():
            if node != ROOT:
                below[node[:-1], node[-1]] += count
        for node, digit in counted.keys() | below.keys():
            if off := counted[node, digit] - below[node, digit]:
                wrong.add(("counter", ranking.key, f"{bytes(node).hex()}:{digit}:{off}"))
    return wrong


def _counted(items: list[dict[str, Any]], ranking: Ranking) -> Counters:
    """The counters of a ranking, from its nodes in the lanes that are in use, and from the log of a rolling window."""
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
            place, _ = decode_sort_key(item["s"]["S"], ties_by_instant=ranking.metric.ties_by_instant)
            *leaf, digit = path(place.sort_value)
            yield tuple(leaf), digit


Item = dict[str, Any]
OFF: Final = (-200, -1, 1, 5)
"""How far a wrong sort value is off."""


class Damaged(NamedTuple):
    """An item to damage: of a member in a ranking, or in all periods of a rolling window."""

    audited: Audited
    ranking: Ranking | RollingRankings
    member: str
    item: Item
    low: int = 0
    """In a row of a rolling window: the first period that can be read."""
    step: Step = Step(0, 0, Place(0))
    """In a row of a rolling window: one step that can be read."""
    listed: str = ""
    """In a list of a rolling window: the list's key."""

    def one_of(self, *values: Any) -> Any:
        return self.audited.rng.choice(values)

    def without(self, *names: str) -> Item:
        return {name: value for name, value in self.item.items() if name not in names}

    def moved(self) -> Item:
        """The item with another sort key, of another score or another instant."""
        there, _ = decode_sort_key(self.item["s"]["S"], ties_by_instant=self.ranking.metric.ties_by_instant)
        other = there._replace(sort_value=there.sort_value + self.one_of(*OFF))
        if there.since is not None and self.one_of(True, False):
            other = there._replace(since=there.since + 1)
        return {**self.item, "s": {"S": sort_key(other, self.member)}}

    def elsewhere(self) -> Item:
        """The item in a wrong shard, in use or not."""
        homes = {0, shard_of(self.member, self.ranking.metric.shards)}
        shard = self.one_of(*(shard for shard in (0, 1, 2, 9) if shard not in homes))
        return {**self.item, "r": {"S": index_key(self.listed or self.ranking.key, shard)}}

    def later(self) -> Item:
        """The item with a version that its member's item has not reached."""
        return {**self.item, "v": {"N": str(int(self.item["v"]["N"]) + self.one_of(1, 10**9))}}

    def steps(self) -> list[Step]:
        return list(decode_steps(self.item["p"]["S"]).steps)

    def with_steps(self, *steps: Step) -> Item:
        return {**self.item, "p": {"S": encode_steps(Steps(decode_steps(self.item["p"]["S"]).low, steps))}}

    def first(self) -> int:
        """The first period of the step that can be read."""
        return max(self.low, self.step.first)


Change = Callable[[Damaged], Item | None]

_INDEXED: Final[dict[str, tuple[str, str, Change]]] = {
    "is deleted": ("missing", "wrong-list-item", lambda _: None),
    "has no sort key": ("missing", "wrong-list-item", lambda item: item.without("r", "s")),
    "has another sort key": ("wrong", "wrong-list-item", Damaged.moved),
    "has an unreadable sort key": (
        *("wrong", "wrong-list-item"),
        lambda item: {**item.item, "s": {"S": item.one_of(*UNREADABLE)}},
    ),
    "is in another shard": ("misplaced", "misplaced", Damaged.elsewhere),
    "is newer than the member's item": ("version", "wrong-list-item", Damaged.later),
}
ROWS: Final = {f"a row {what}": (kind, change) for what, (kind, _, change) in _INDEXED.items()}
"""Rows of members in rankings that are not rolling."""
LIST_ITEMS: Final = {f"a list item {what}": (kind, change) for what, (_, kind, change) in _INDEXED.items()}
"""Items of a rolling window's lists."""


def _end(row: Damaged) -> int:
    return row.steps()[-1].until


def _other_step(row: Damaged) -> Item:
    place = row.step.place._replace(sort_value=row.step.place.sort_value + row.one_of(*OFF))
    return row.with_steps(*(step._replace(place=place) if step == row.step else step for step in row.steps()))


WINDOW_ROWS: Final[dict[str, tuple[str, Change, Callable[[Damaged], int]]]] = {
    "a window's row is deleted": ("missing", lambda _: None, lambda row: _shown(row)[0].first),
    "a step is missing": (
        "missing",
        lambda row: row.with_steps(*(step for step in row.steps() if step != row.step)),
        Damaged.first,
    ),
    "a step has another score": ("wrong", _other_step, Damaged.first),
    "a step is added": (
        "phantom",
        lambda row: row.with_steps(*row.steps(), Step(_end(row), _end(row) + 1, _some_place(row.audited, row.ranking))),
        _end,
    ),
    "a window's row is unreadable": (
        "wrong",
        lambda row: {
            **row.item,
            "p": {"S": row.one_of("", "[", "[1,2]", '[0,["a",1,1]]', '[0,[0,1,"a"]]', "[0,[0,9999999999,1]]")},
        },
        lambda row: _shown(row)[0].first,
    ),
    "a window's row is newer than its item": ("version", Damaged.later, lambda row: row.low),
}
"""Rows of members in rolling windows, and in which period the finding is."""


def _with_entries(log: Item, *entries: Any) -> Item:
    return {**log, "l": {"L": [*entries]}, "z": {"N": str(sum(len(entry["S"]) for entry in entries))}}


def _with_wrong_entry(audited: Audited, log: Item) -> Item:
    """The log with an entry that says something else."""
    texts = [text["S"] for text in log["l"]["L"]]
    at = audited.rng.randrange(len(texts))
    entry = decode_entry(texts[at])
    last = max(entry.changes, key=lambda change: change.until)
    wrong = last._replace(new=(last.new or 0) + 1000)
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
    """Damages what is audited. `expected` is how an audit must name rows and list items.

    Wrong counters are not in it: `Audited.counters_off` finds them.
    """

    def __init__(self, audited: Audited) -> None:
        self._audited = audited
        self._rng = audited.rng
        self.expected: set[Finding] = set()
        self._touched: dict[str, set[str]] = {}
        self._made = 0

    def damage(self, kind: str) -> None:
        """Do one damage of a kind, if anything is left that can be damaged in this way."""
        if kind in ROWS:
            if entry := self._entry(shown=True):
                finding, change = ROWS[kind]
                self._store(entry, change(entry))
                self.expected.add((finding, entry.ranking.key, entry.member))
        elif kind in WINDOW_ROWS:
            if row := self._row(shown=True):
                finding, change, period = WINDOW_ROWS[kind]
                self._store(row, change(row))
                self._expect(finding, row, max(row.low, period(row)))
        elif kind in LIST_ITEMS:
            if row := self._row(shown=True):
                finding, change = LIST_ITEMS[kind]
                block = self._rng.choice(_blocks(row, [row.step]))
                key = list_key(self.window(), block)
                item = next(item for item in self._items() if item["pk"]["S"] == entry_key(key, row.member))
                listed = row._replace(item=item, listed=key)
                self._store(listed, change(listed))
                self._expect_listed(finding, row.member, block)
        else:
            _BY_HAND[kind](self)

    def damage_log(self, kind: str) -> str:
        """Damage the log of the rolling window, and return its key."""
        key = log_key(self.window().key, 0)
        log = self._audited.engine.get_item(TableName="Rankings", Key={"pk": {"S": key}})["Item"]
        assert log["l"]["L"]
        self._put(LOGS[kind](self._audited, log))
        return key

    def window(self) -> RollingRankings:
        """The only rolling window."""
        return rolling_of(self._windows()[0])

    def periods(self) -> list[int]:
        """The periods of the rolling window that can be read."""
        return sorted(ranking.period for ranking in self._windows())

    def _windows(self) -> list[Ranking]:
        return [ranking for ranking in self._audited.rankings() if ranking.window.rolling]

    def _calendar(self) -> list[Ranking]:
        """The rankings that have a row for each member."""
        return [ranking for ranking in self._audited.rankings() if not ranking.window.rolling]

    def _items(self) -> list[Item]:
        return rows(self._audited.engine, "Rankings")

    def _put(self, item: Item) -> None:
        self._audited.engine.put_item(TableName="Rankings", Item=item)

    def _store(self, damaged: Damaged, item: Item | None) -> None:
        if item is None:
            self._audited.engine.delete_item(TableName="Rankings", Key={"pk": damaged.item["pk"]})
        else:
            self._put(item)

    def _expect(self, kind: str, row: Damaged, period: int) -> None:
        self.expected.add((kind, _at(row, period), row.member))

    def _expect_listed(self, kind: str, member: str, block: Block) -> None:
        self.expected.add((kind, list_key(self.window(), block), member))

    def _members(self, ranking: Ranking | RollingRankings) -> list[Damaged]:
        """The rows of members that are not damaged yet."""
        prefix = entry_key(ranking.key, "")
        rows_ = {
            item["pk"]["S"].removeprefix(prefix): item
            for item in self._items()
            if item["pk"]["S"].startswith(f"{prefix}m")
        }
        left = rows_.keys() - self._touched.get(ranking.key, set())
        return [Damaged(self._audited, ranking, member, rows_[member]) for member in sorted(left)]

    def _choose(self, found: list[Damaged]) -> Damaged | None:
        if not found:
            return None
        chosen = self._rng.choice(found)
        self._touched.setdefault(chosen.ranking.key, set()).add(chosen.member)
        return chosen

    def _entry(self, *, shown: bool) -> Damaged | None:
        """A row of a member who is ranked, or is not."""
        return self._choose(
            [row for ranking in self._calendar() for row in self._members(ranking) if ("s" in row.item) is shown]
        )

    def _row(self, *, shown: bool) -> Damaged | None:
        """A row in the rolling window with or without steps that can be read."""
        found = [row._replace(low=self.periods()[0]) for row in self._members(self.window())]
        row = self._choose([row for row in found if bool(_shown(row)) is shown])
        return row._replace(step=self._rng.choice(_shown(row))) if row is not None and shown else row

    def _indexed(self, ranking: Ranking, member: str) -> Item:
        """Where a member's entry is in the index, with some score."""
        place = _some_place(self._audited, ranking)
        shard = shard_of(member, ranking.metric.shards)
        return {"r": {"S": index_key(ranking.key, shard)}, "s": {"S": sort_key(place, member)}}

    def _listed(self, member: str, block: Block, place: Place) -> None:
        key = list_key(self.window(), block)
        self._put(
            {
                "pk": {"S": entry_key(key, member)},
                "v": {"N": "1"},
                "t": {"N": str(NOW)},
                "r": {"S": index_key(key, shard_of(member, self.window().metric.shards))},
                "s": {"S": sort_key(place, member)},
            }
        )

    def _nobody(self) -> str:
        self._made += 1
        return f"ghost-{self._made}"

    def _perhaps_counted(self, ranking: Ranking, place: Place) -> None:
        if self._rng.random() < 0.5:
            for node in prefixes(path(place.sort_value)):
                add_to_counter(self._audited.engine, ranking, node, path(place.sort_value)[len(node)], 1)

    def _entry_of_nobody(self) -> None:
        ranking, member = self._rng.choice(self._calendar()), self._nobody()
        entry = self._indexed(ranking, member)
        row = {"pk": {"S": entry_key(ranking.key, member)}, "v": {"N": "1"}, "t": {"N": str(NOW)}}
        self._put({**row, **entry})
        place, _ = decode_sort_key(entry["s"]["S"], ties_by_instant=ranking.metric.ties_by_instant)
        self._perhaps_counted(ranking, place)
        self.expected.add(("phantom", ranking.key, member))

    def _entry_of_someone_hidden(self) -> None:
        if row := self._entry(shown=False):
            assert isinstance(row.ranking, Ranking)
            self._put({**row.item, **self._indexed(row.ranking, row.member)})
            self.expected.add(("phantom", row.ranking.key, row.member))

    def _steps_of_someone_hidden(self) -> None:
        if row := self._row(shown=False):
            self._put(row.with_steps(Step(row.low, row.low + 2, _some_place(self._audited, row.ranking))))
            self._expect("phantom", row, row.low)

    def _list_item_of_nobody(self, *, placed: bool = False) -> None:
        window, member, period = self.window(), self._nobody(), self._rng.choice(self.periods())
        step = Step(period, period + 1, _some_place(self._audited, window))
        block = Block(period, 1) if placed else self._rng.choice([*blocks_within(window.window, period, period + 1)])
        self._listed(member, block, step.place)
        self._perhaps_counted(window.at(period), step.place)
        if placed:
            row = {"pk": {"S": entry_key(window.key, member)}, "v": {"N": "1"}, "t": {"N": str(NOW)}}
            self._put({**row, "p": {"S": encode_steps(Steps(period, (step,)))}})
        self._expect_listed("phantom" if placed else "wrong-list-item", member, block)

    def _list_item_without_a_step(self) -> None:
        if row := self._row(shown=True):
            first, *_, last = self.periods()
            blocks = set(blocks_within(self.window().window, first, last + 1)) - set(_blocks(row, row.steps()))
            block = self._rng.choice(sorted(blocks))
            self._listed(row.member, block, _some_place(self._audited, row.ranking))
            self._expect_listed("wrong-list-item", row.member, block)

    def _wrong_counter(self) -> None:
        """Change a counter of the root, an inner node or a leaf."""
        ranking = self._rng.choice(self._audited.rankings())
        nodes = {way: counters for way, counters in nodes_of(self._audited.engine, ranking).items() if counters}
        if nodes:
            node = self._rng.choice([*nodes])
            digit = self._rng.choice(sorted(nodes[node]))
            add_to_counter(self._audited.engine, ranking, node, digit, self._rng.choice([-2, -1, 1, 1, 40]))

    def _deleted_node(self) -> None:
        ranking = self._rng.choice(self._audited.rankings())
        nodes = [way for way, counters in nodes_of(self._audited.engine, ranking).items() if any(counters.values())]
        if nodes:
            key = {"pk": {"S": node_key(ranking.key, self._rng.choice(nodes))}}
            self._audited.engine.delete_item(TableName="Rankings", Key=key)

    def _nodes_below_a_counter_of_0(self) -> None:
        ranking = self._rng.choice(self._audited.rankings())
        way = path(self._rng.choice([40_000, -40_000, 77, 5_000_000]))
        length = self._rng.randrange(1, len(way))
        for node in prefixes(way[: length + 1]):
            add_to_counter(self._audited.engine, ranking, node, way[len(node)], 3 if len(node) == length else 0)


_BY_HAND: Final[dict[str, Callable[[Damages], None]]] = {
    "an entry of nobody": Damages._entry_of_nobody,
    "an entry of someone hidden": Damages._entry_of_someone_hidden,
    "steps of someone hidden": Damages._steps_of_someone_hidden,
    "a list item of nobody": Damages._list_item_of_nobody,
    "a row and a list item of nobody": lambda damages: damages._list_item_of_nobody(placed=True),
    "a list item that no step leads to": Damages._list_item_without_a_step,
    "a wrong counter": Damages._wrong_counter,
    "a node is deleted": Damages._deleted_node,
    "nodes below a counter of 0": Damages._nodes_below_a_counter_of_0,
}
KINDS: Final = (*ROWS, *WINDOW_ROWS, *LIST_ITEMS, *_BY_HAND)


def _shown(row: Damaged) -> list[Step]:
    """The steps that can be read."""
    return [step for step in row.steps() if step.until > row.low]


def _at(row: Damaged, period: int) -> str:
    assert isinstance(row.ranking, RollingRankings)
    return row.ranking.at(period).key


def _blocks(row: Damaged, steps: list[Step]) -> list[Block]:
    """The blocks of some of a row's steps that reach to a period that can be read."""
    assert isinstance(row.ranking, RollingRankings)
    return list(Steps(row.low, tuple(steps)).by_block(row.ranking.window, row.low))


def _some_place(audited: Audited, ranking: Ranking | RollingRankings) -> Place:
    return Place(audited.rng.choice(SCORES), NOW if ranking.metric.ties_by_instant else None)
