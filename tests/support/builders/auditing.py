"""Boards for an audit: traffic while it looks, an index that lags, and a hand that corrupts what it looks at."""

import random
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from standings.aws.dynamodb.keys import counter_digit, counter_name, entry_key, index_key, node_key, shard_of
from standings.aws.dynamodb.rankings.audit_reads import DynamoAuditReads
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Boards
from standings.domain.boards.ranking import Ranking
from standings.domain.members.open_rankings import open_rankings
from standings.domain.scoring.sort_order import Place, decode_sort_key, sort_key
from standings.domain.tiers.tier_path import ROOT, Path, path, prefixes
from standings.maintain.audit.audit import GRACE, BoardAudit
from standings.maintain.audit.audit_run import AuditRun
from standings.maintain.audit.report import Report
from standings.runtime.retry import Clock
from tests.support.aws.stack import ManualClock, Stack
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import rows
from tests.support.faults import faulty_client

NOW = 1_795_256_100_000
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

UNREADABLE = ("?", "~~", "P", "\u00e9", "zzz")

Finding = tuple[str, str, str]
"""A kind, a ranking, and a member or `node:digit:off`."""


@dataclass
class Audited:
    """A board, its functions, and the time that passes while they and the audit work."""

    stack: Stack
    rng: random.Random
    boards: Boards
    settling: float = 10.0
    posted: int = 0

    @property
    def engine(self) -> Any:
        return self.stack.dynamodb

    @property
    def clock(self) -> ManualClock:
        return self.stack.clock

    def pacing(self) -> Clock:
        return Clock(self.clock, lambda: self.clock.milliseconds / 1000, self.sleep, self.rng.random)

    def sleep(self, seconds: float) -> None:
        self.clock.milliseconds += round(seconds * 1000)

    def rankings(self) -> list[Ranking]:
        """All that can be read."""
        family = self.boards.family(BOARD)
        assert family is not None
        now = self.clock()
        return [
            ranking
            for ranking in open_rankings(family, BOARD, now)
            if ranking.readable_until is None or now < ranking.readable_until
        ]

    def happen(self, member: str) -> None:
        """An event of a member; or it is hidden, comes back, or is removed."""
        rng, stack = self.rng, self.stack
        what = rng.random()
        if what < 0.85:
            self.posted += 1
            at = self.clock.milliseconds - rng.choice([0, 0, 0, 86_400_000])
            event = {
                "id": f"e{self.posted}",
                "board": BOARD,
                "member": member,
                "metrics": {rng.choice(["points", "points", "best"]): rng.choice(SCORES)},
                "at": _instant(at),
            }
            assert stack.post("/events", event)[0] == 202
            assert stack.writer({"Records": stack.activity.records()}, Context()) == {"batchItemFailures": []}
        elif what < 0.95:
            assert stack.put(f"/boards/{BOARD}/member", {"hidden": rng.random() < 0.7}, id=member)[0] == 200
        else:
            assert stack.delete(f"/boards/{BOARD}/member", id=member)[0] in {204, 404}

    def project(self, most: int = 10_000) -> None:
        """Project some of what the stream has."""
        for number, shard in enumerate(self.engine.stream("Scores")):
            done = self.stack.projected.get(number, 0)
            batch = shard[done : done + most]
            if batch:
                assert self.stack.projector({"Records": batch}, Context()) == {"batchItemFailures": []}
            self.stack.projected[number] = done + len(batch)

    def audit(self, client: Any = None, seconds: float = 1000.0, most_calls: int = 100_000) -> list[dict[str, Any]]:
        """The answers of an audit, call by call."""
        evidence = DynamoAuditReads(client or self.engine, "Scores", "Rankings", self.pacing())
        family = self.boards.family(BOARD)
        assert family is not None
        answers: list[dict[str, Any]] = []
        cursor = None
        while True:
            deadline = self.clock.milliseconds / 1000 + seconds
            run = AuditRun(evidence, self.pacing(), deadline, GRACE, Report(BOARD))
            report = BoardAudit(run, family, settling=self.settling).run(cursor)
            answers.append(report.answer())
            cursor = report.cursor
            if cursor is None:
                return answers
            assert len(answers) < most_calls


def _instant(milliseconds: int) -> str:
    from datetime import UTC, datetime  # noqa: PLC0415

    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def populate(audited: Audited, members: int, events: int) -> None:
    """Events, hides and removals, all projected; then an hour goes by."""
    for _ in range(events):
        audited.happen(f"m{audited.rng.randrange(members)}")
        audited.clock.milliseconds += 7
    audited.project()
    if audited.rng.random() < 0.5:
        _use_lanes(audited)
    audited.clock.milliseconds += 3_600_000


def _use_lanes(audited: Audited) -> None:
    """Some moves were counted in other lanes: in each alone a counter may be anything."""
    rng = audited.rng
    for ranking in audited.rankings():
        lanes = rng.choice([2, 4])
        for node, counters in nodes_of(audited.engine, ranking).items():
            if node == ROOT:
                key = {"pk": {"S": node_key(ranking, ROOT)}}
                audited.engine.update_item(
                    TableName="Rankings",
                    Key=key,
                    UpdateExpression="SET l = :l",
                    ExpressionAttributeValues={":l": {"N": str(lanes)}},
                )
            for digit in counters:
                count = rng.choice([-3, 0, 1])
                _add(audited.engine, ranking, node, digit, count)
                _add(audited.engine, ranking, node, digit, -count, rng.randrange(1, lanes))


def _add(engine: Any, ranking: Ranking, node: Path, digit: int, count: int, lane: int = 0) -> None:
    engine.update_item(
        TableName="Rankings",
        Key={"pk": {"S": node_key(ranking, node, lane)}},
        UpdateExpression=f"SET t = if_not_exists(t, :t) ADD {counter_name(digit)} :n",
        ExpressionAttributeValues={":n": {"N": str(count)}, ":t": {"N": str(NOW)}},
    )


class Lagging:
    """Lets the sorted index show each change of a row only some time after it."""

    def __init__(self, audited: Audited, milliseconds: int) -> None:
        self._index = audited.engine._tables["Rankings"].indexes["places"]
        self._index.bring_in()
        self._clock = audited.clock
        self._lag = milliseconds
        self._since: dict[Any, int] = {}
        self._bring_in = self._index.bring_in
        self._index.mark, self._mark = self.mark, self._index.mark
        self._index.bring_in = self.bring_in

    def mark(self, key: Any) -> None:
        self._since.setdefault(key, self._clock())
        self._mark(key)

    def bring_in(self) -> None:
        waiting = dict(self._index._marked)
        due = {key: None for key in waiting if self._clock() - self._since[key] >= self._lag}
        self._index._marked = due
        self._bring_in()
        for key in due:
            del self._since[key]
        self._index._marked = {key: None for key in waiting if key not in due}


@dataclass
class Busy:
    """A client during whose every call something may happen on the board: seldom, once there was much."""

    audited: Audited
    chance: float
    members: int = 8
    prefix: str = "x"
    step: int = 30
    much: int = 300
    calls: Counter[str] = field(default_factory=Counter)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.audited.engine, name)

        def call(**request: Any) -> Any:
            self.calls[name] += 1
            self.happen()
            if name == "transact_get_items" and self.audited.rng.random() < self.chance / 4:
                raise faulty_client.cancelled(["TransactionConflict", *["None"] * (len(request["TransactItems"]) - 1)])
            return method(**request)

        return call

    def happen(self) -> None:
        audited, rng = self.audited, self.audited.rng
        audited.clock.milliseconds += rng.randrange(self.step)
        if rng.random() < (self.chance if audited.posted < self.much else min(self.chance, 0.02)):
            for _ in range(rng.randint(1, 3)):
                audited.happen(f"{self.prefix}{rng.randrange(self.members)}")
            if rng.random() < 0.8:
                audited.project(rng.choice([1, 2, 10_000]))


class Load:
    """Events on the board before the calls of whoever else is at work there, projected now and then."""

    def __init__(self, audited: Audited, chance: float = 0.02) -> None:
        self.events = 0
        self._audited = audited
        self._chance = chance
        self._at_it = threading.Lock()

    def start(self) -> None:
        self._audited.engine.before.append(self._before)

    def stop(self) -> None:
        self._audited.engine.before.remove(self._before)

    def _before(self, *_: Any) -> None:
        audited, rng = self._audited, self._audited.rng
        # What these events call themselves is no occasion for more.
        if not self._at_it.acquire(blocking=False):
            return
        try:
            if rng.random() < self._chance:
                self.events += 1
                audited.clock.milliseconds += rng.randrange(50)
                audited.happen(f"m{rng.randrange(25)}")
                if rng.random() < 0.5:
                    audited.project(rng.randint(1, 9))
        finally:
            self._at_it.release()


class Corruption:
    """Corrupts Rankings, and remembers how each row has to be named."""

    def __init__(self, audited: Audited) -> None:
        self._audited = audited
        self._rng = audited.rng
        self.expected: set[Finding] = set()
        self._touched: set[tuple[str, str]] = set()
        self._made = 0

    def corrupt(self, kind: str) -> None:
        getattr(self, f"_{kind}")()

    def _entry(self) -> tuple[Ranking, str, dict[str, Any]] | None:
        """An entry that nothing was done to yet."""
        found = []
        for ranking in self._audited.rankings():
            prefix = entry_key(ranking, "")
            for row in rows(self._audited.engine, "Rankings"):
                key = row["pk"]["S"]
                if key.startswith(f"{prefix}m") and "s" in row and (ranking.key, key) not in self._touched:
                    found.append((ranking, key.removeprefix(prefix), row))
        if not found:
            return None
        chosen = self._rng.choice(found)
        self._touched.add((chosen[0].key, chosen[2]["pk"]["S"]))
        return chosen

    def _put(self, item: dict[str, Any]) -> None:
        self._audited.engine.put_item(TableName="Rankings", Item=item)

    def _expect(self, kind: str, ranking: Ranking, member: str) -> None:
        self.expected.add((kind, ranking.key, member))

    def _deleted(self) -> None:
        if chosen := self._entry():
            ranking, member, row = chosen
            self._audited.engine.delete_item(TableName="Rankings", Key={"pk": row["pk"]})
            self._expect("missing", ranking, member)

    def _emptied(self) -> None:
        if chosen := self._entry():
            ranking, member, row = chosen
            self._put({name: value for name, value in row.items() if name not in "rs"})
            self._expect("missing", ranking, member)

    def _moved(self) -> None:
        if chosen := self._entry():
            ranking, member, row = chosen
            there, _ = decode_sort_key(row["s"]["S"], ties_by_instant=ranking.metric.ties_by_instant)
            other = there._replace(sort_value=there.sort_value + self._rng.choice([-200, -1, 1, 5]))
            if there.since is not None and self._rng.random() < 0.5:
                other = there._replace(since=there.since + 1)
            self._put({**row, "s": {"S": sort_key(other, member)}})
            self._expect("wrong", ranking, member)

    def _unreadable(self) -> None:
        if chosen := self._entry():
            ranking, member, row = chosen
            self._put({**row, "s": {"S": self._rng.choice(UNREADABLE)}})
            self._expect("wrong", ranking, member)

    def _elsewhere(self) -> None:
        """In a shard that is not its own: one that is read, one that is not, or another ranking's index."""
        if chosen := self._entry():
            ranking, member, row = chosen
            homes = {0, shard_of(member, ranking.metric.shards)}
            shard = self._rng.choice([shard for shard in (0, 1, 2, 9) if shard not in homes])
            self._put({**row, "r": {"S": index_key(ranking, shard)}})
            self._expect("misplaced", ranking, member)

    def _future(self) -> None:
        if chosen := self._entry():
            ranking, member, row = chosen
            self._put({**row, "v": {"N": str(int(row["v"]["N"]) + self._rng.choice([1, 10**9]))}})
            self._expect("version", ranking, member)

    def _ghost(self) -> None:
        """An entry of nobody, or of somebody who has none; counted or not."""
        ranking = self._rng.choice(self._audited.rankings())
        self._made += 1
        member = f"ghost-{self._made}"
        sort_value = self._rng.choice(SCORES)
        there = Place(sort_value, NOW if ranking.metric.ties_by_instant else None)
        shard = shard_of(member, ranking.metric.shards)
        row = {
            "pk": {"S": entry_key(ranking, member)},
            "v": {"N": "1"},
            "t": {"N": str(NOW)},
            "r": {"S": index_key(ranking, shard)},
            "s": {"S": sort_key(there, member)},
        }
        self._put(row)
        if self._rng.random() < 0.5:
            for node in prefixes(path(sort_value)):
                self._add(ranking, node, path(sort_value)[len(node)], 1)
        self._expect("phantom", ranking, member)

    def _unhidden(self) -> None:
        """A row of somebody who is hidden or removed has an entry again."""
        found = []
        for ranking in self._audited.rankings():
            prefix = entry_key(ranking, "")
            found += [
                (ranking, row)
                for row in rows(self._audited.engine, "Rankings")
                if row["pk"]["S"].startswith(prefix)
                and row["pk"]["S"].startswith(f"{prefix}m")
                and "s" not in row
                and (ranking.key, row["pk"]["S"]) not in self._touched
            ]
        if found:
            ranking, row = self._rng.choice(found)
            self._touched.add((ranking.key, row["pk"]["S"]))
            member = row["pk"]["S"].removeprefix(entry_key(ranking, ""))
            there = Place(self._rng.choice(SCORES), NOW if ranking.metric.ties_by_instant else None)
            shard = shard_of(member, ranking.metric.shards)
            self._put({**row, "r": {"S": index_key(ranking, shard)}, "s": {"S": sort_key(there, member)}})
            self._expect("phantom", ranking, member)

    def _counter(self) -> None:
        """A counter up or down: of the root, an inner node or a leaf."""
        ranking = self._rng.choice(self._audited.rankings())
        nodes = [way for way, counters in nodes_of(self._audited.engine, ranking).items() if counters]
        if nodes:
            node = self._rng.choice(nodes)
            digit = self._rng.choice(sorted(nodes_of(self._audited.engine, ranking)[node]))
            self._add(ranking, node, digit, self._rng.choice([-2, -1, 1, 1, 40]))

    def _lost(self) -> None:
        """A counter that is gone, or a whole node."""
        ranking = self._rng.choice(self._audited.rankings())
        nodes = [way for way, counters in nodes_of(self._audited.engine, ranking).items() if any(counters.values())]
        if nodes:
            key = {"pk": {"S": node_key(ranking, self._rng.choice(nodes))}}
            self._audited.engine.delete_item(TableName="Rankings", Key=key)

    def _stray(self) -> None:
        """A node that counts somebody below a counter that counts nobody."""
        ranking = self._rng.choice(self._audited.rankings())
        sort_value = self._rng.choice([40_000, -40_000, 77, 5_000_000])
        way = path(sort_value)
        length = self._rng.randrange(1, len(way))
        for node in prefixes(way[: length + 1]):
            self._add(ranking, node, way[len(node)], 3 if len(node) == length else 0)

    def _add(self, ranking: Ranking, node: Path, digit: int, count: int) -> None:
        _add(self._audited.engine, ranking, node, digit, count)


def nodes_of(engine: Any, ranking: Ranking) -> dict[Path, dict[int, int]]:
    """The counters of a ranking's nodes, also those of 0, summed over the lanes that the root names."""
    there = {row["pk"]["S"]: row for row in rows(engine, "Rankings") if row["pk"]["S"].startswith(f"{ranking.key}/")}
    lanes = int(there.get(node_key(ranking, ROOT), {}).get("l", {"N": "1"})["N"])
    found: dict[Path, dict[int, int]] = {}
    for key, row in there.items():
        way, _, lane = key.removeprefix(f"{ranking.key}/").partition("+")
        if int(lane or 0) < lanes:
            node = found.setdefault(tuple(bytes.fromhex(way)), {})
            for name, value in row.items():
                digit = counter_digit(name)
                if digit is not None:
                    node[digit] = node.get(digit, 0) + int(value["N"])
    return found


def counters_off(audited: Audited, generation: int = 0) -> set[Finding]:
    """The counters that differ from what they count, from all rows of the table.

    A leaf's counter counts entries; another node's counter is the sum of its child's counters.
    """
    wrong: set[Finding] = set()
    for ranking in (one._replace(generation=generation) for one in audited.rankings()):
        below = _entries_of_leaves(audited, ranking)
        nodes = nodes_of(audited.engine, ranking)
        for node, counters in nodes.items():
            if node != ROOT:
                below[node[:-1], node[-1]] += sum(counters.values())
        counted = {(node, digit): count for node, counters in nodes.items() for digit, count in counters.items()}
        for node, digit in counted.keys() | below.keys():
            off = counted.get((node, digit), 0) - below[node, digit]
            if off:
                wrong.add(("counter", ranking.key, f"{bytes(node).hex()}:{digit}:{off}"))
    return wrong


def _entries_of_leaves(audited: Audited, ranking: Ranking) -> Counter[tuple[Path, int]]:
    """The number of entries for each score: by leaf and digit."""
    entries: Counter[tuple[Path, int]] = Counter()
    shards = {index_key(ranking, shard) for shard in range(ranking.metric.shards)}
    for row in rows(audited.engine, "Rankings"):
        if "s" in row and row["r"]["S"] in shards and row["s"]["S"] not in UNREADABLE:
            place, _ = decode_sort_key(row["s"]["S"], ties_by_instant=ranking.metric.ties_by_instant)
            *leaf, digit = path(place.sort_value)
            entries[tuple(leaf), digit] += 1
    return entries


def findings(answers: list[dict[str, Any]]) -> list[Finding]:
    """All differences of an audit that kept all examples."""
    found: list[Finding] = []
    for answer in answers:
        assert answer["drift"] == len(answer["examples"]), "examples were left out"
        for example in answer["examples"]:
            what = example.get("member")
            if what is None:
                what = f"{example['node']}:{example['digit']}:{example['counted'] - example['there']}"
            found.append((example["kind"], example["ranking"], what))
    return found


def family(shards: int, ties: str) -> tuple[str, Boards]:
    """A `boards.toml`, as text and read."""
    text = FAMILY.format(shards=shards, ties=ties)
    return text, parse_boards(text)
