"""Boards for an audit: events, hides and removals, and the audit itself call by call."""

import random
from dataclasses import dataclass
from typing import Any

from standings.aws.dynamodb.keys import node_key
from standings.aws.dynamodb.rankings.audit_reads import DynamoAuditReads
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.coverage import coverage_of
from standings.domain.boards.definitions import Boards, Ranking
from standings.domain.members.open_rankings import open_rankings
from standings.domain.tiers.tier_path import ROOT
from standings.maintain.audit.audit import GRACE, BoardAudit
from standings.maintain.audit.report import AuditCall
from standings.runtime.retry import Clock
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack
from tests.support.awslambda.pollers import Context
from tests.support.builders.audit.counters import Finding, add_to_counter, counters_off, nodes_of

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

    def time(self) -> Clock:
        return Clock(self.clock, lambda: self.clock.milliseconds / 1000, self.sleep, self.rng.random)

    def sleep(self, seconds: float) -> None:
        self.clock.milliseconds += round(seconds * 1000)

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
        """Project up to `most` records of each shard of the stream."""
        for number, shard in enumerate(self.engine.stream("Scores")):
            done = self.stack.projected.get(number, 0)
            batch = shard[done : done + most]
            if batch:
                assert self.stack.projector({"Records": batch}, Context()) == {"batchItemFailures": []}
            self.stack.projected[number] = done + len(batch)

    def audit(self, client: Any = None, seconds: float = 1000.0, most_calls: int = 100_000) -> list[dict[str, Any]]:
        """Run an audit call by call; returns the answers."""
        evidence = DynamoAuditReads(client or self.engine, "Scores", "Rankings", self.time())
        family = self.boards.family(BOARD)
        assert family is not None
        answers: list[dict[str, Any]] = []
        cursor = None
        while True:
            deadline = self.clock.milliseconds / 1000 + seconds
            call = AuditCall(BOARD, evidence, self.time(), deadline, GRACE)
            answers.append(BoardAudit(call, family, 0, coverage_of(family, self.clock.milliseconds)).run(cursor))
            cursor = answers[-1]["cursor"]
            if cursor is None:
                return answers
            assert len(answers) < most_calls


def _instant(milliseconds: int) -> str:
    from datetime import UTC, datetime  # noqa: PLC0415

    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


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
                key = {"pk": {"S": node_key(ranking.key, ROOT)}}
                audited.engine.update_item(
                    TableName="Rankings",
                    Key=key,
                    UpdateExpression="SET l = :l",
                    ExpressionAttributeValues={":l": {"N": str(lanes)}},
                )
            for digit in counters:
                count = rng.choice([-3, 0, 1])
                add_to_counter(audited.engine, ranking, node, digit, count)
                add_to_counter(audited.engine, ranking, node, digit, -count, rng.randrange(1, lanes))


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


def family(shards: int, ties: str) -> tuple[str, Boards]:
    """A `boards.toml`, as text and read."""
    text = FAMILY.format(shards=shards, ties=ties)
    return text, parse_boards(text)
