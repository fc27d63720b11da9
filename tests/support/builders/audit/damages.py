"""Damages Rankings in every way that an audit names, at random places, and says how the audit must name it.

The tables give for each damage the kind of the finding, and what becomes of the item (None: it is deleted).
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from standings.aws.dynamodb.rolling import decode_steps, encode_steps
from standings.aws.dynamodb.tables import entry_key, index_key, log_key, node_key, shard_of
from standings.domain.boards import Ranking
from standings.domain.rolling import (
    Block,
    RollingRankings,
    Step,
    Steps,
    blocks_within,
    decode_entry,
    encode_entry,
    list_key,
    rolling_of,
)
from standings.domain.scoring import Place, decode_sort_key, sort_key
from standings.domain.tiers import path, prefixes
from tests.support.builders.audit.auditing import NOW, SCORES, UNREADABLE, Audited, Finding, add_to_counter, nodes_of
from tests.support.builders.checks import rows

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
    block: Block = Block(0, 1)
    """In a list of a rolling window: the block whose list it is."""

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

    def elsewhere(self, key: str) -> Item:
        """The item in a wrong shard, in use or not."""
        homes = {0, shard_of(self.member, self.ranking.metric.shards)}
        shard = self.one_of(*(shard for shard in (0, 1, 2, 9) if shard not in homes))
        return {**self.item, "r": {"S": index_key(key, shard)}}

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

ROWS: Final[dict[str, tuple[str, Change]]] = {
    "a row is deleted": ("missing", lambda _: None),
    "a row has no sort key": ("missing", lambda row: row.without("r", "s")),
    "a row has another sort key": ("wrong", Damaged.moved),
    "a row's sort key is unreadable": ("wrong", lambda row: {**row.item, "s": {"S": row.one_of(*UNREADABLE)}}),
    "a row is in another shard": ("misplaced", lambda row: row.elsewhere(row.ranking.key)),
    "a row is newer than its item": ("version", Damaged.later),
}
"""Rows of members in rankings that are not rolling."""


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

LIST_ITEMS: Final[dict[str, tuple[str, Change]]] = {
    "a list item is deleted": ("wrong-list-item", lambda _: None),
    "a list item has no sort key": ("wrong-list-item", lambda item: item.without("r", "s")),
    "a list item has another sort key": ("wrong-list-item", Damaged.moved),
    "a list item's sort key is unreadable": (
        "wrong-list-item",
        lambda item: {**item.item, "s": {"S": item.one_of(*UNREADABLE)}},
    ),
    "a list item is in another shard": ("misplaced", lambda item: item.elsewhere(_list_of(item))),
    "a list item is newer than its item": ("wrong-list-item", Damaged.later),
}
"""Items of a rolling window's lists."""


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
        log,
        *log["l"]["L"],
        {"S": audited.rng.choice(["", "{}", "[1,2]", '[1,0,1,"a",2]', f"[1,0,1,null,{2**60}]"])},
    ),
    "without a base": lambda _, log: {name: value for name, value in log.items() if name != "b"},
    "without a list": lambda _, log: {**log, "l": {"S": "[]"}},
    "an entry twice": lambda _, log: _with_entries(log, *log["l"]["L"], log["l"]["L"][0]),
    "a wrong entry": _with_wrong_entry,
}
"""The log of a rolling window. The last two can be read: counters are wrong by what they say."""

ADDED: Final = (
    *("an entry of nobody", "an entry of someone hidden", "steps of someone hidden"),
    *("a list item of nobody", "a row and a list item of nobody", "a list item that no step leads to"),
)
TIERS: Final = ("a wrong counter", "a node is deleted", "nodes below a counter of 0")
KINDS: Final = (*ROWS, *WINDOW_ROWS, *LIST_ITEMS, *ADDED, *TIERS)


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
                key = entry_key(list_key(self.window(), block), row.member)
                item = next(item for item in self._items() if item["pk"]["S"] == key)
                listed = row._replace(item=item, block=block)
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


def _shown(row: Damaged) -> list[Step]:
    """The steps that can be read."""
    return [step for step in row.steps() if step.until > row.low]


def _at(row: Damaged, period: int) -> str:
    assert isinstance(row.ranking, RollingRankings)
    return row.ranking.at(period).key


def _list_of(item: Damaged) -> str:
    assert isinstance(item.ranking, RollingRankings)
    return list_key(item.ranking, item.block)


def _blocks(row: Damaged, steps: list[Step]) -> list[Block]:
    """The blocks of some of a row's steps that reach to a period that can be read."""
    assert isinstance(row.ranking, RollingRankings)
    return list(Steps(row.low, tuple(steps)).by_block(row.ranking.window, row.low))


def _some_place(audited: Audited, ranking: Ranking | RollingRankings) -> Place:
    return Place(audited.rng.choice(SCORES), NOW if ranking.metric.ties_by_instant else None)
