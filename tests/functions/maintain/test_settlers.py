"""Many callers settle one period: with old cursors, deaths at any call, `--again`, and bans in between."""

import gzip
import random
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from standings.maintain import settlement
from standings.maintain.turns import LEASE_MARGIN
from standings.stores import StoreUnavailableError
from tests.support.aws.stack import ManualClock, Stack, apply, project, running
from tests.support.awslambda.context import Killed
from tests.support.awslambda.pollers import Context
from tests.support.builders.seasons import milliseconds
from tests.support.builders.settling.leagues import (
    BOARD,
    BOARDS,
    FINAL,
    PREFIX,
    Scores,
    lines_in,
    play,
    settle,
    settle_whole,
    sorted_lines,
    winners,
    won,
)
from tests.support.faults.faulty_client import Fate, Mortal
from tests.support.thoroughness import assert_all_met, seeds, thorough_seeds

WRITES: Final = frozenset(("put_item", "update_item", "transact_write_items", "delete_item"))
OTHERS: Final = ("put_object", "get_object", "list_objects_v2", "delete_object", "put_events")
ATTEMPT: Final = f"{PREFIX}attempt.json"
CALLERS: Final = ("plain", "again", "schedule")
SEEDS: Final = (20, 320)
TRAPS: Final = [
    "two settlers",
    "a cursor that is older than the seal",
    "a ban after the seal",
    "a try without `--again` after one with it has died",
]


@pytest.fixture
def fate(monkeypatch: pytest.MonkeyPatch) -> Fate:
    """Files and lists of sent events are small, so that a settlement has many of them."""
    monkeypatch.setattr(settlement, "PART", 5)
    monkeypatch.setattr(settlement, "REMEMBERED_TOGETHER", 10)
    return Fate()


@pytest.fixture
def stack(engine: Any, clock: ManualClock, fate: Fate) -> Iterator[Stack]:
    """The fate governs writes to tables, and all calls of the bucket and the bus."""
    with running(Mortal(engine, fate, WRITES), clock, BOARDS) as stack:
        for fake in (stack.bucket, stack.bus):
            for name in OTHERS:
                if hasattr(fake, name):
                    setattr(fake, name, fate.governing(name, getattr(fake, name)))
        yield stack


class Callers:
    """Calls of three callers, in any order. Each call does one step, or all that it can."""

    def __init__(self, stack: Stack, fate: Fate, rng: random.Random, scores: Scores) -> None:
        self.stack, self.fate, self.rng = stack, fate, rng
        self.histories = [scores]
        """The scores of everybody who was not banned, before each ban and after the last one."""
        self.cursors: dict[str, list[tuple[Any, int]]] = {name: [] for name in CALLERS}
        """Where each caller may go on, and how many bans there were when it began."""
        self.met: set[str] = set()
        self.died = ""

    def call(self, caller: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """One call, which may die. It begins, or goes on from its last cursor or an older one."""
        monkeypatch.setattr(settlement, "RESERVE_S", self.rng.choice([60.0, 10_000.0]))
        seconds = self.rng.choice([900, 900, 900, 0])
        self.fate.begin(self.rng.choice([None, self.rng.randrange(12)]), self.rng.choice(["before", "after", "fails"]))
        known = [(None, len(self.histories) - 1), *self.cursors[caller]]
        cursor, began = known[-1] if self.rng.random() < 0.7 else self.rng.choice(known)
        self.meet(caller, cursor)
        try:
            if caller == "schedule":
                self.stack.maintenance({"settlements": {"next": {}}}, Context(seconds=seconds))
            else:
                answer = settle(self.stack, seconds, cursor=cursor, again=caller == "again")
                if answer["cursor"] is not None:
                    self.cursors[caller].append((answer["cursor"], began))
                elif caller == "again" and answer["done"] and answer["rankings"][0]["settled"]:
                    self.check(self.histories[began:])
        except (Killed, StoreUnavailableError):
            self.died = caller
            self.stack.clock.milliseconds += 900_000 + LEASE_MARGIN
        self.fate.begin()

    def meet(self, caller: str, cursor: Any) -> None:
        """Note the traps of a call."""
        if self.is_sealed and cursor is not None:
            self.met.add("a cursor that is older than the seal")
        if self.died == "again" != caller:
            self.met.add("a try without `--again` after one with it has died")
        if sum(map(bool, self.cursors.values())) > 1:
            self.met.add("two settlers")
        self.died = ""

    @property
    def is_sealed(self) -> bool:
        return f"{PREFIX}summary.json" in self.stack.bucket.results

    def ban(self) -> None:
        """Hide a member. The list follows."""
        if self.is_sealed:
            self.met.add("a ban after the seal")
        member = self.rng.choice(sorted(self.histories[-1]))
        self.stack.put(f"/boards/{BOARD}/member", {"hidden": True}, id=member)
        project(self.stack)
        self.histories.append({one: score for one, score in self.histories[-1].items() if one != member})

    def end(self, *, again: bool) -> dict[str, Any]:
        """Settle without faults, until it is done."""
        self.stack.clock.milliseconds += 900_000 + LEASE_MARGIN
        cursor = None
        for _ in range(30):
            answer = settle(self.stack, cursor=cursor, again=again)
            (ranking,) = answer["rankings"]
            if answer["done"] and ranking["settled"]:
                return dict(ranking)
            assert ranking["why"] is None or "try again" in ranking["why"].lower(), ranking["why"]
            cursor = answer["cursor"]
        raise AssertionError(answer)

    def check(self, possible: list[Scores]) -> None:
        """Files, summary and digest fit each other, and every prize of them was announced."""
        files = self.stack.bucket.results
        summary = orjson.loads(files[f"{PREFIX}summary.json"])
        parts = sorted(key for key in files if key.startswith(PREFIX) and key.endswith(".jsonl.gz"))
        content = b"".join(gzip.decompress(files[key]) for key in parts)
        lines = lines_in(files)
        assert lines in [sorted_lines(scores) for scores in possible]
        assert (summary["members"], summary["parts"]) == (len(lines), len(parts))
        assert summary["digest"] == sha256(content).hexdigest()
        settled = {line["member"]: line["score"] for line in lines}
        assert {(name, member) for name, member, _ in won(self.stack)} >= {each[:2] for each in winners(settled)}
        details: dict[str, Any] = {}
        for event in self.stack.bus.events:
            about = {name: event.get(name) for name in ("type", "prize", "member", "digest")}
            assert details.setdefault(event["id"], about) == about


@pytest.mark.parametrize("seed", seeds(*SEEDS))
def test_files_summary_and_prizes_fit_whoever_settles(
    stack: Stack, fate: Fate, seed: int, monkeypatch: pytest.MonkeyPatch, shared_folder: Path
) -> None:
    rng = random.Random(seed)
    callers = Callers(stack, fate, rng, play(stack, seed, members=rng.choice([3, 14, 21])))
    stack.clock.milliseconds = FINAL
    for _ in range(rng.randrange(4, 16)):
        if rng.random() < 0.2 and len(callers.histories[-1]) > 1:
            callers.ban()
        callers.call(rng.choice(CALLERS), monkeypatch)
    assert callers.end(again=False)["settled"], f"seed {seed}"
    callers.check(callers.histories)
    callers.end(again=True)
    callers.check(callers.histories[-1:])
    files = dict(stack.bucket.results)
    callers.end(again=True)
    assert files | stack.bucket.results == files | {ATTEMPT: stack.bucket.results[ATTEMPT]}
    assert_all_met(shared_folder, "settlers", seed, thorough_seeds(*SEEDS), callers.met, TRAPS)


def test_an_older_call_cannot_settle_what_a_later_one_has_opened_again(
    stack: Stack, fate: Fate, monkeypatch: pytest.MonkeyPatch
) -> None:
    fate.begin()
    scores = play(stack, 1, members=3)
    stack.clock.milliseconds = FINAL
    monkeypatch.setattr(settlement, "RESERVE_S", 10_000.0)  # each call does one step
    older = settle(stack)
    while older["cursor"]["at"]["stage"] != "seal":
        older = settle(stack, cursor=older["cursor"])
    callers = Callers(stack, fate, random.Random(1), scores)
    callers.ban()
    later = settle(stack, again=True)

    older = settle(stack, cursor=older["cursor"])
    while not later["done"]:
        later = settle(stack, cursor=later["cursor"], again=True)

    assert older["rankings"][0]["why"] == "another call has begun to write this period's files: try again"
    callers.check(callers.histories[-1:])


def test_a_damaged_item_is_to_be_repaired_first(stack: Stack, fate: Fate) -> None:
    fate.begin()
    play(stack, 1, members=3)
    stack.clock.milliseconds = FINAL
    item = next(item for item in stack.dynamodb.scan(TableName="Scores")["Items"] if item["sk"]["S"] == "m000")
    stack.dynamodb.put_item(TableName="Scores", Item={name: item[name] for name in item if name != "v"})

    (ranking,) = settle_whole(stack)["rankings"]

    assert "1 damaged" in ranking["why"]
    assert ranking["why"].endswith(": repair the damaged items first, which a rebuild leaves out")
    assert stack.bucket.results == {}


WINTER: Final = """
[boards."*"]
late = "1 day"
settle = ["season"]
metrics.points = {{ aggregate = "sum", windows = ["season"] }}
prizes.season = [{{ ranks = "1", name = "cup" }}]
[[boards."*".seasons]]
name = "winter"
starts = "{year}-12-01"
ends = "{year}-12-20"
"""


@pytest.mark.parametrize("is_scheduled", [False, True], ids=["by hand", "by the schedule"])
@pytest.mark.parametrize("version", ["0.2", "0.3"])
def test_a_season_with_the_name_of_an_earlier_one_is_settled_beside_it(
    engine: Any, clock: ManualClock, version: str, is_scheduled: bool
) -> None:
    files: dict[str, bytes] = {}
    ids = []
    for year, member in ((2026, "ann"), (2027, "cem")):
        with running(engine, clock, WINTER.format(year=year)) as stack:
            stack.bucket.results.update(files)
            clock.milliseconds = milliseconds(f"{year}-12-05T10:00")
            event = {"id": member, "board": "b", "member": member, "metrics": {"points": 5}}
            apply(stack, [{**event, "at": f"{year}-12-05T09:00:00Z"}])
            clock.milliseconds = milliseconds(f"{year}-12-22T01:00")
            for _ in range(2):
                if is_scheduled:
                    stack.maintenance({"settlements": {"next": {}}}, Context(seconds=900))
                else:
                    settle_whole(stack, board="b", window="season", period=None)
            (cup,) = [event for event in stack.bus.events if event["type"] == "Prize Won"]
            assert (cup["member"], cup["period"]) == (member, "winter")
            ids += [event["id"] for event in stack.bus.events]
            files = dict(stack.bucket.results)
            if version == "0.2":
                files.pop("results/b/points/season/winter/attempt.json", None)

    assert lines_in(files, "results/b/points/season/winter/") == [{"rank": 1, "member": "ann", "score": 5}]
    assert lines_in(files, "results/b/points/season/winter-2027-12-01/") == [{"rank": 1, "member": "cem", "score": 5}]
    assert len(set(ids)) == len(ids) == 4
