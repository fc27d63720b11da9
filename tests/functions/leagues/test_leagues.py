"""The example of leagues: whatever dies, comes twice or gets in the way, weeks end as in a model of a few lines."""

import gzip
import importlib
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial
from io import BytesIO
from types import ModuleType, SimpleNamespace
from typing import Any, Final
from urllib.parse import quote

import pytest

from benchmarks.harness.meter import Meter
from benchmarks.models.cost import league
from demo.embedded.stack import PROJECT
from tests.support.awslambda.context import Killed
from tests.support.dynamodb.engine import Engine
from tests.support.thoroughness import seeds

FOLDER: Final = PROJECT / "examples" / "leagues"
DIVISIONS: Final = ("bronze", "silver", "gold")
SIZE, RISE, FALL = 5, 2, 1
MONDAY: Final = date(2026, 11, 16)
ENVIRONMENT: Final = {
    "DIVISIONS": ",".join(DIVISIONS),
    "GROUP_SIZE": str(SIZE),
    "RISE": str(RISE),
    "FALL": str(FALL),
    "WINDOW": "week",
    "TIMEZONE": "UTC",
    "BOARD_PREFIX": "league",
    "PATIENCE_HOURS": "24",
    "LEAGUE_TABLE": "League",
    "SCORES_TABLE": "Scores",
    "RANKINGS_TABLE": "Rankings",
    "PROFILES_TABLE": "Profiles",
}
Scores = dict[str, int]


class Mortal:
    """A client whose calls die before or after they are done, or find that somebody else was at work."""

    def __init__(self, client: Any, rng: random.Random) -> None:
        self.client = client
        self.rng = rng
        self.chance = 0.0
        self.others: list[Callable[[], Any]] = []

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.client, name)

        def mortal(**request: Any) -> Any:
            if self.others and self.rng.random() < self.chance:
                self.others.pop()()
            if self.rng.random() < self.chance:
                raise Killed
            answer = call(**request)
            if self.rng.random() < self.chance:
                raise Killed
            return answer

        return mortal


class World:
    """The application, its table, and boards that are dictionaries of scores."""

    def __init__(self, app: Any, client: Mortal, boards: dict[str, Scores], files: dict[str, bytes]) -> None:
        self.app = app
        self.client = client
        self.boards = boards
        self.files = files
        self.rng = client.rng

    def call(self, method: str, member: str, now: datetime) -> tuple[int, Any]:
        event = {
            "pathParameters": {"member": member},
            "requestContext": {"http": {"method": method}, "timeEpoch": round(now.timestamp() * 1000)},
            "rawPath": f"/league/{quote(member)}",
        }
        answer = self.surely(lambda: self.app.api(event, None))
        return answer["statusCode"], json.loads(answer.get("body", "null"))

    def settle(self, board: str, week: date) -> dict[str, Any]:
        """Write what a settled period ends with, and return the event of it."""
        ranked = sorted(self.boards[board].items(), key=lambda one: (-one[1], one[0]))
        lines = [json.dumps({"rank": 0, "member": member, "score": score}) for member, score in ranked]
        prefix = f"results/{board}/points/week/{week}/"
        self.files[f"{prefix}standings-00001.jsonl.gz"] = gzip.compress("\n".join(lines).encode())
        about = {"board": board, "window": "week", "period": str(week), "bucket": "results", "prefix": prefix}
        return {"detail": about}

    def surely(self, do: Callable[[], Any]) -> Any:
        """Do it again until it has not died; and mostly once more."""
        done = None
        while done is None or self.rng.random() < self.client.chance:
            try:
                done = (do(),)
            except Killed:
                continue
        return done[0]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[World]:
    engine = Engine()
    keys = ("pk", "HASH"), ("sk", "RANGE")
    engine.create_table(
        TableName="League",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name, _ in keys],
        KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in keys],
    )
    boards: dict[str, Scores] = {}
    files: dict[str, bytes] = {}
    client = Mortal(engine, random.Random(request.param))

    def board(name: str) -> Any:
        def top(_: int, *, me: str, **__: Any) -> dict[str, Any]:
            scores = boards.get(name, {})
            ranked = me in scores and {"rank": 1 + sum(other > scores[me] for other in scores.values())}
            return {"total": len(scores), "me": ranked or None}

        return SimpleNamespace(top=top)

    s3 = SimpleNamespace(
        list_objects_v2=lambda Bucket, Prefix: {"Contents": [{"Key": key} for key in files if key.startswith(Prefix)]},  # noqa: ARG005, N803
        get_object=lambda Bucket, Key: {"Body": BytesIO(files[Key])},  # noqa: ARG005, N803
    )
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(FOLDER / "function")
    monkeypatch.setattr("boto3.client", {"dynamodb": client, "s3": Mortal(s3, client.rng)}.__getitem__)
    monkeypatch.setattr("standings.client.connect", lambda **_: SimpleNamespace(board=board))
    app: ModuleType = importlib.import_module("app")
    yield World(app, client, boards, files)
    for module in ("app", "rules", "seats"):
        del sys.modules[module]


@pytest.mark.parametrize("world", [0], indirect=True)
def test_a_player_and_a_week_cost_what_the_tutorial_counts(world: World) -> None:
    now = datetime(2026, 11, 16, 10, tzinfo=UTC)
    meter = world.client.client = Meter(world.client.client)

    def units(do: Callable[[], Any]) -> tuple[float, float]:
        """The read and write units of a call."""
        before = meter.snapshot()
        do()
        total = (meter.snapshot() - before).total
        return total.read, total.write

    found = [units(partial(world.call, "POST", f"m{number}", now)) for number in range(SIZE)]
    assert found == [(league.SEAT_READS + league.STATE_READS, league.SEAT_WRITES)] * SIZE
    assert units(partial(world.call, "GET", "m1", now)) == (league.STATE_READS, 0)
    board = world.call("GET", "m1", now)[1]["board"]
    world.boards[board] = {f"m{number}": number for number in range(SIZE)}
    event = world.settle(board, MONDAY)
    closed = league.CLOSED_READS, league.CLOSED_WRITES + SIZE * league.MOVED
    assert units(lambda: world.app.settled(event, None)) == closed


def expected(division: int, scores: Scores) -> dict[str, int]:
    """The model: who is in which division after a week, by comparing each member with each other."""
    rise, fall = (RISE if division < len(DIVISIONS) - 1 else 0), (FALL if division else 0)
    if rise + fall >= len(scores):  # one stays between, the others move in proportion
        moving, both = max(0, len(scores) - 1), rise + fall
        rise = next(some for some in range(moving + 1) if some * both >= moving * rise)
        fall = moving - rise if fall else 0
    after = {}
    for member, score in scores.items():
        ahead = sum(other > score for other in scores.values())
        behind_or_equal = sum(other <= score for other in scores.values())
        after[member] = division + (1 if ahead < rise else -1 if behind_or_equal <= fall else 0)
    return after


@pytest.mark.parametrize("world", seeds(6, 100), indirect=True)
def test_three_weeks_end_as_in_the_model(world: World) -> None:
    rng = world.rng
    world.client.chance = 0.15
    divisions: dict[str, int] = {}
    told: list[dict[str, Any]] = []
    last: dict[str, str] = {}
    for number in range(3):
        week = MONDAY + timedelta(weeks=number)
        now = datetime(week.year, week.month, week.day, 10, tzinfo=UTC)
        active = rng.sample([f"m{one}" for one in range(40)], 30)
        boards: dict[str, str] = {}
        for member in active:
            world.client.others = [partial(world.call, "POST", other, now) for other in rng.sample(active, 2)]
            status, state = world.call("POST", member, now)
            if status == 409:  # a board on which nobody scored is not settled: a day later its members go on
                assert last[member] not in world.boards
                status, state = world.call("POST", member, now + timedelta(days=1))
            assert (status, state["division"]) == (200, DIVISIONS[divisions.setdefault(member, 0)])
            boards[member] = state["board"]
            assert world.call("POST", member, now + timedelta(days=6))[1]["board"] == state["board"]
        world.client.others = []
        last |= boards
        assert max(Counter(boards.values()).values()) <= SIZE
        assert {member: board.split("-")[1] for member, board in boards.items()} == {
            member: DIVISIONS[divisions[member]] for member in active
        }
        erased = rng.choice(active)
        assert world.call("DELETE", erased, now)[0] == 204
        del divisions[erased]
        for member, board in boards.items():
            if rng.random() < 0.9:
                world.boards.setdefault(board, {})[member] = rng.randint(0, 6)
        for board, scores in world.boards.items():
            if str(week) not in board:
                continue
            ranked = {member: score for member, score in scores.items() if member != erased}
            divisions |= expected(DIVISIONS.index(board.split("-")[1]), ranked)
            scores["a stranger"] = 9
        events = [world.settle(board, week) for board in sorted(set(boards.values())) if board in world.boards]
        rng.shuffle(events)
        for event in [*events, *rng.sample(told, min(4, len(told)))]:
            world.surely(partial(world.app.settled, event, None))
        told += events
        for member, division in divisions.items():
            assert world.call("GET", member, now + timedelta(days=9))[1]["division"] == DIVISIONS[division]
        assert world.call("GET", erased, now)[1]["board"] is None
