"""Projectors beside each other, call by call: attempts that were given up go on unseen while their retries run."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from standings.domain.boards import Ranking
from standings.domain.definitions import parse_boards
from standings.domain.members import Image, place
from standings.domain.moves import Change
from standings.dynamodb.rankings import DynamoRankings
from standings.services.projector import Projector, Record
from standings.services.store import StoreUnavailableError
from tests import faulty
from tests.checks import assert_tiers_count_the_entries, entries
from tests.registries import registry
from tests.turns import Turns

NOW = 1_795_256_100_000
BOARDS = parse_boards('[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "day", "last-2-days"] }')


class Crash(BaseException):
    """A function dies; not an Exception, so that nothing takes it for an error of the store."""


class NoParking:
    def park(self, sequence: str, reason: str) -> None:
        raise StoreUnavailableError(f"{sequence}: {reason}")


class Subject:
    def __init__(self, engine: Any, seed: int) -> None:
        self.rng = random.Random(seed)
        self.turns = Turns(self.rng)
        self.client = faulty.Faulty(engine)
        self.time = faulty.Time(NOW)
        self.client.steps.append(self.step)
        pacing = self.time.pacing()
        rankings = DynamoRankings(self.client, "Rankings", pacing)  # type: ignore[arg-type]
        self.projector = Projector(registry(BOARDS, engine, pacing), rankings, pacing)

    def step(self, faulty: faulty.Faulty, request: dict[str, Any]) -> Any:
        """Every call: others may come between, and it may fail, or die before or after it is done."""
        faulty.steps.append(self.step)
        self.turns.pause()
        chance = self.rng.random()
        if chance < 0.03:
            raise Crash
        if chance < 0.10:
            return faulty.conflict(faulty, request)
        if chance < 0.14:
            return faulty.lost_answer(faulty, request)
        if chance < 0.17:
            return faulty.error("InternalServerError")(faulty, request)
        answer = faulty.client.transact_write_items(**request)
        if chance < 0.20:
            raise Crash
        return answer

    def project(self, batch: list[Record]) -> int:
        """How many records of a batch are done, as Lambda learns it; a crash tells nothing."""
        try:
            projected = self.projector.project(batch, NoParking(), self.time.monotonic() + 5)
        except Crash:
            return 0
        if projected.failed is None:
            return len(batch)
        return [record.sequence for record in batch].index(projected.failed)


def history(rng: random.Random, count: int) -> tuple[dict[str, Image], list[list[Record]]]:
    """Changes of a few members, in two shards, and what the members are in the end."""
    family = BOARDS.family("b")
    assert family is not None
    metric = family.metrics["points"]
    today = family.timetable.index("d", NOW)
    latest: dict[str, Image] = {}
    shards: list[list[Record]] = [[], []]
    for number in range(count):
        member = f"m{rng.randrange(5)}"
        old = latest.get(member)
        values = dict(old.values) if old is not None else {}
        amount = rng.choice([-3, 0, 1, 2, 127, 128, 300])
        for name in (metric.total(), metric.bucket("d", today + rng.randrange(2))):
            values[name] = values.get(name, 0) + amount
        version = old.version + 1 if old is not None else 1
        hidden = rng.random() < 0.1
        latest[member] = Image("b", member, version, NOW + number, 0, hidden, values)
        shards[int(member[1:]) % 2].append(Record(f"{number}", Change(old, latest[member])))
    return latest, shards


def assert_entries_are_the_scores(engine: Any, latest: dict[str, Image]) -> None:
    family = BOARDS.family("b")
    assert family is not None
    metric = family.metrics["points"]
    today = family.timetable.index("d", NOW)
    expected: dict[str, dict[str, int]] = {}
    for window in metric.windows:
        for period in (0,) if window.unit is None else range(today, today + 3):
            ranking = Ranking("b", metric, window, period)
            placed = {
                member: there.ordinal
                for member, image in latest.items()
                if (there := place(image, ranking)) is not None
            }
            if placed:
                expected[ranking.key] = placed
    assert entries(engine) == expected
    assert_tiers_count_the_entries(engine)


def deliver(engine: Any, seed: int) -> None:
    subject = Subject(engine, seed)
    rng = subject.rng
    latest, shards = history(rng, 60)
    position = [0, 0]

    def attempt(shard: int, batch: list[Record], start: int) -> Callable[[], None]:
        def job() -> None:
            done = subject.project(batch)
            if start == position[shard]:
                position[shard] = start + done

        return job

    def unheard(batch: list[Record]) -> Callable[[], None]:
        def job() -> None:
            subject.project(batch)

        return job

    while any(position[shard] < len(shards[shard]) for shard in (0, 1)):
        jobs = []
        for shard, records in enumerate(shards):
            here = position[shard]
            if here < len(records):
                jobs.append(attempt(shard, records[here : here + rng.randint(1, 7)], here))
            if rng.random() < 0.5:
                # A zombie: an attempt at records from before, or at some of these, that nobody listens to.
                there = max(0, here - rng.randrange(12))
                zombie = records[there : min(len(records), there + rng.randint(1, 9))]
                jobs.append(unheard(zombie))
        subject.turns.run(jobs)
    subject.client.steps.clear()
    assert_entries_are_the_scores(engine, latest)


@pytest.mark.parametrize("seed", range(40))
def test_entries_and_tiers_are_right_beside_zombies(engine: Any, seed: int) -> None:
    print(f"seed {seed}")
    deliver(engine, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1000, 1500))
def test_entries_and_tiers_are_right_beside_zombies_for_many_seeds(engine: Any, seed: int) -> None:
    print(f"seed {seed}")
    deliver(engine, seed)
