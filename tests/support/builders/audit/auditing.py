"""A board for audits: events, hides and removals at random, also while an audit or a rebuild runs."""

import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from standings.aws.dynamodb.tables import COUNTERS, index_key, log_key, node_key
from standings.domain.boards import Boards, Ranking
from standings.domain.members import open_rankings
from standings.domain.rolling import lists_of, rolling_of
from standings.domain.scoring import decode_sort_key
from standings.domain.tiers import ROOT, Path, path
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import rows
from tests.support.builders.failures.maintenance import calls
from tests.support.builders.stages.streaming import write
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
        family = self.boards.family(BOARD)
        assert family is not None
        now = self.clock()
        return [
            ranking
            for ranking in open_rankings(family, BOARD, now)
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
