"""The example of leagues: whatever dies, comes twice or gets in the way, weeks end as in a model of a few lines."""

import gzip
import importlib
import json
import os
import random
import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, timedelta, timezone
from functools import partial
from io import BytesIO
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final, cast
from unittest import mock
from urllib.parse import quote

import pytest

from benchmarks.harness.meter import Meter
from benchmarks.models.cost import league
from demo.embedded.stack import PROJECT
from tests.support.aws.client import connected
from tests.support.aws.stack import Stack, apply, project
from tests.support.awslambda.context import Killed
from tests.support.dynamodb.engine import Engine
from tests.support.thoroughness import seeds

FOLDER: Final = PROJECT / "examples" / "leagues"
DIVISIONS: Final = ("bronze", "silver", "gold")
SIZE, RISE, FALL = 5, 2, 1
MONDAY: Final = date(2026, 11, 16)
BOARDS: Final = """
[boards."league-*"]
late = "1 hour"
keep = "35 days"
expires = "60 days"
settle = ["week"]
metrics.points = { aggregate = "sum", windows = ["week"] }
"""
ENVIRONMENT: Final = {
    "DIVISIONS": ",".join(DIVISIONS),
    "GROUP_SIZE": str(SIZE),
    "RISE": str(RISE),
    "FALL": str(FALL),
    "WINDOW": "week",
    "TIMEZONE": "UTC",
    "BOARD_PREFIX": "league",
    "PATIENCE_HOURS": "24",
    **{f"{name.upper()}_TABLE": name for name in ("League", "Scores", "Rankings", "Profiles")},
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
        event = request(method, member, now)
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


def request(method: str, member: str, now: datetime, body: Any = None) -> dict[str, Any]:
    """A request as API Gateway passes it on. A body that is no text is sent as JSON."""
    return {
        "pathParameters": {"member": member},
        "requestContext": {"http": {"method": method}, "timeEpoch": round(now.timestamp() * 1000)},
        "rawPath": f"/league/{quote(member)}",
        "body": body if body is None or isinstance(body, str) else json.dumps(body),
    }


@contextmanager
def application(engine: Any, clients: dict[str, Any], standings: Any) -> Iterator[Any]:
    """The application of the example, with its table."""
    keys = ("pk", "HASH"), ("sk", "RANGE")
    schema = [{"AttributeName": name, "KeyType": kind} for name, kind in keys]
    named = [{"AttributeName": name, "AttributeType": "S"} for name, _ in keys]
    engine.create_table(TableName="League", BillingMode="PAY_PER_REQUEST", AttributeDefinitions=named, KeySchema=schema)
    with pytest.MonkeyPatch.context() as patch, mock.patch.dict(os.environ, ENVIRONMENT):
        patch.syspath_prepend(FOLDER / "function")
        patch.setattr("boto3.client", lambda service, **_: clients[service])
        patch.setattr("standings.client.connect", lambda **_: standings)
        app: ModuleType = importlib.import_module("app")
        yield app
        for module in ("app", "rules", "seats"):
            del sys.modules[module]


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    boards: dict[str, Scores] = {}
    files: dict[str, bytes] = {}
    engine = Engine()
    client = Mortal(engine, random.Random(request.param))

    def board(name: str) -> Any:
        def top(_: int, *, me: str, **__: Any) -> dict[str, Any]:
            scores = boards.get(name, {})
            ranked = me in scores and {"rank": 1 + sum(other > scores[me] for other in scores.values())}
            return {"total": len(scores), "me": ranked or None, "state": "final"}

        return SimpleNamespace(top=top)

    s3 = SimpleNamespace(
        list_objects_v2=lambda Bucket, Prefix: {"Contents": [{"Key": key} for key in files if key.startswith(Prefix)]},  # noqa: ARG005, N803
        get_object=lambda Bucket, Key: {"Body": BytesIO(files[Key])},  # noqa: ARG005, N803
    )
    clients = {"dynamodb": client, "s3": Mortal(s3, client.rng)}
    with application(engine, clients, SimpleNamespace(board=board)) as app:
        yield World(app, client, boards, files)


Call = Callable[..., tuple[int, Any]]


@pytest.fixture
def ask(stack: Stack, tmp_path: Path) -> Iterator[Call]:
    """Calls the application on a stack whose functions run in this process: with a method, a member and a body."""
    clients = {"dynamodb": stack.dynamodb, "s3": None}
    with application(stack.dynamodb, clients, connected(stack, tmp_path, BOARDS)) as app:

        def call(method: str, member: str, body: Any = None, **changed: Any) -> tuple[int, Any]:
            now = datetime.fromtimestamp(stack.clock() / 1000, UTC)
            answer = app.api({**request(method, member, now, body), **changed}, None)
            return answer["statusCode"], json.loads(answer.get("body", "null"))

        yield call


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


@pytest.mark.parametrize("world", [0], indirect=True)
def test_days_of_a_zone_begin_as_in_the_stack(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIMEZONE", "America/Vancouver")
    monkeypatch.setenv("WINDOW", "day")
    days = importlib.reload(world.app)._league

    assert days.period(datetime(2026, 11, 27, 7, 30, tzinfo=UTC)) == date(2026, 11, 27)
    assert days.end(date(2026, 11, 27)) == datetime(2026, 11, 28, 7, tzinfo=UTC)


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


def moved_by(state: dict[str, Any]) -> int:
    """Which way a member is on, by the lines that it is shown."""
    rank, rises, falls = state["rank"], state["rises_to_rank"], state["falls_from_rank"]
    assert (rises is None or rises > 0) and (rises is None) >= (state["division"] == DIVISIONS[-1])  # noqa: PT018
    if rank is None:
        return 0
    return 1 if rises and rank <= rises else -1 if falls and rank >= falls else 0


@pytest.mark.parametrize("world", seeds(6, 100), indirect=True)
def test_three_weeks_end_as_in_the_model(world: World) -> None:
    rng = world.rng
    world.client.chance = 0.15
    divisions: dict[str, int] = {}
    told: list[dict[str, Any]] = []
    for number in range(3):
        week = MONDAY + timedelta(weeks=number)
        now = datetime(week.year, week.month, week.day, 10, tzinfo=UTC)
        active = rng.sample([f"m{one}" for one in range(40)], 30)
        boards: dict[str, str] = {}
        for member in active:
            world.client.others = [partial(world.call, "POST", other, now) for other in rng.sample(active, 2)]
            status, state = world.call("POST", member, now)
            assert (status, state["division"]) == (200, DIVISIONS[divisions.setdefault(member, 0)])
            boards[member] = state["board"]
            assert world.call("POST", member, now + timedelta(days=6))[1]["board"] == state["board"]
        world.client.others = []
        assert max(Counter(boards.values()).values()) <= SIZE
        assert {member: board.split("-")[1] for member, board in boards.items()} == {
            member: DIVISIONS[divisions[member]] for member in active
        }
        for member, board in boards.items():
            if rng.random() < 0.9:
                world.boards.setdefault(board, {})[member] = rng.randint(0, 6)
        for member, board in boards.items():
            place, scores = divisions[member], world.boards.get(board, {})
            shown = world.call("GET", member, now)[1]
            assert moved_by(shown) == expected(place, scores).get(member, place) - place
        erased = rng.choice(active)
        assert world.call("DELETE", erased, now)[0] == 204
        del divisions[erased]
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


@pytest.mark.parametrize("world", [0], indirect=True)
@pytest.mark.parametrize("second", [1, 0, -1])
@pytest.mark.parametrize("first", [1, 0, -1])
def test_a_result_after_the_patience_counts_with_the_next_one(world: World, first: int, second: int) -> None:
    points = {1: 9, 0: 3, -1: 0}
    weeks = [MONDAY + timedelta(weeks=number) for number in range(3)]
    players = [f"m{number}" for number in range(2 * SIZE)]
    told: list[dict[str, Any]] = []
    for week, outcome in zip(weeks, (0, first, second), strict=True):
        now = datetime(week.year, week.month, week.day, 23, tzinfo=UTC) + timedelta(days=1)
        for member in players:
            status, state = world.call("POST", member, now)
            assert (status, state["division"]) == (200, "bronze" if week == MONDAY else "silver")
            world.boards.setdefault(state["board"], {})[member] = 1
        if week == MONDAY:  # of each group the first two rise
            players = [member for scores in world.boards.values() for member in [*scores][:RISE]]
            for board, scores in world.boards.items():
                scores.update(dict.fromkeys([*scores][:RISE], 5))
                world.app.settled(world.settle(board, week), None)
            continue
        scores = dict(zip(players, (points[outcome], 7, 5, 1), strict=True))
        world.boards[state["board"]] = scores
        told.append(world.settle(state["board"], week))
    for event in told * 2:
        world.app.settled(event, None)
    after = world.call("GET", players[0], now + timedelta(weeks=1))[1]["division"]
    assert after == DIVISIONS[1 + max(-1, min(1, first + second))]


@pytest.mark.parametrize("world", [0], indirect=True)
@pytest.mark.parametrize("weeks", [0, 1])
def test_after_an_erasure_that_died_a_member_comes_back_or_goes(world: World, weeks: int) -> None:
    engine, rng = world.client.client, world.client.rng
    now = datetime(2026, 11, 17, 10, tzinfo=UTC)
    for survived in range(10):
        members = ["ann", f"b{survived}", f"c{survived}"]
        assert [world.call("POST", member, now)[0] for member in members] == [200] * 3
        world.client.chance, luck = 0.5, iter([*[1] * survived, 0, *[1] * 99])
        world.client.rng = cast("random.Random", SimpleNamespace(random=luck.__next__))
        with suppress(Killed):
            world.app.api(request("DELETE", "ann", now), None)
        world.client.chance, world.client.rng = 0, rng
        status, state = world.call("POST", "ann", now + timedelta(weeks=weeks))
        assert (status, state["division"]) == (200, "bronze")
        if not weeks:
            assert "ann" in world.app._seats.close(state["board"])
        assert world.call("DELETE", "ann", now)[0] == 204
        left = [item for item in engine.scan(TableName="League")["Items"] if "ann" in f"{item['pk']} {item['sk']}"]
        assert left == []


def test_a_year_of_a_league_keeps_storage_flat(ask: Call, stack: Stack) -> None:
    """A group's board ends after 60 days, and its record goes 90 days later: then as much goes each week as comes."""
    engine, counts = stack.dynamodb, list[dict[str, int]]()
    engine.update_time_to_live(TableName="League", TimeToLiveSpecification={"AttributeName": "e", "Enabled": True})
    for week in range(53):
        stack.clock.milliseconds = round((SUNDAY + timedelta(days=3, weeks=week)).timestamp() * 1000)
        at = datetime.fromtimestamp(stack.clock() / 1000, UTC).isoformat()
        for member in ("ann", "bob", "cem"):
            status, state = ask("POST", member)
            assert (status, state["rank"]) == (200, None)
            points = {"id": f"{member}{week}", "board": state["board"], "member": member, "metrics": {"points": 1}}
            apply(stack, [{**points, "at": at}])
            assert ask("GET", member)[1]["rank"] == 1
        for table in (tables := ("Scores", "Rankings", "Receipts", "League")):
            engine.expire(table, stack.clock() / 1000)
        project(stack)
        counts.append({table: len(engine.scan(TableName=table)["Items"]) for table in tables})
    assert counts[10]["League"] > counts[5]["League"]
    assert len({tuple(count.values()) for count in counts[25:]}) == 1, counts


SUNDAY: Final = datetime(2026, 11, 22, 23, 57, tzinfo=UTC)
TIMES: Final[tuple[Any, ...]] = (
    *(None, True, 5, 1.5, "", "x", [], {}, "now", "9" * 5000, "2026-11-17", "2026-11-17T10:00:00", "\ud800"),
    *("2026-W47-2T10:00:00Z", "2026-02-30T10:00:00Z", "2026-11-23T00:02:01Z", "2031-06-01T10:00:00Z"),
    *("2026-10-11T23:59:59Z", "1969-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"),
)
BODIES: Final[tuple[Any, ...]] = (
    *({"at": at} for at in TIMES),
    *({"at": "2026-11-17T10:00:00Z", "on": one} for one in TIMES),
    *(one for one in TIMES if one not in (None, "", {})),
    *("null", "[", "[" * 100_000, "{}}", '{"at": NaN}', '{"at": 1e999}', '{"at": "\\ud800"}', "\ud800", '"\\ud800"'),
)
MEMBERS: Final[tuple[Any, ...]] = ("", "#", "x" * 257, "ä" * 129, "\ud800", None, 5, [], {})


def test_no_wrong_request_takes_a_seat(ask: Call, stack: Stack) -> None:
    stack.clock.milliseconds = round(SUNDAY.timestamp() * 1000)
    wrong: list[tuple[str, Any, dict[str, Any]]] = [("POST", body, {}) for body in BODIES]
    wrong += [("GET", body, {}) for body in BODIES]
    wrong += [("POST", text, {"isBase64Encoded": True}) for text in ("a", "é", b64encode(b'{"at": "\xff"}').decode())]
    wrong += [
        (method, None, {"pathParameters": {"member": one}}) for method in ("POST", "GET", "DELETE") for one in MEMBERS
    ]
    wrong += [("PUT", None, {}), *(("POST", None, {part: None}) for part in ("pathParameters", "requestContext"))]
    for method, body, changed in wrong:
        status, answer = ask(method, "ann", body, **changed)
        assert status == 400 and len(answer["detail"]) < 400, (method, body, changed, answer)  # noqa: PT018
    assert stack.dynamodb.scan(TableName="League")["Items"] == []


@pytest.mark.parametrize("seed", seeds(2, 20))
def test_a_seat_is_taken_for_no_time_ahead_and_for_none_that_is_gone(ask: Call, stack: Stack, seed: int) -> None:
    rng = random.Random(seed)
    stack.clock.milliseconds = round(SUNDAY.timestamp() * 1000)
    for number in range(100):
        shift = timedelta(milliseconds=round(rng.choice([-1, 1]) * 10 ** rng.uniform(4, 12)))
        at = SUNDAY + shift
        monday = at.date() - timedelta(days=at.weekday())
        is_kept = date(2026, 11, 22) < monday + timedelta(days=7 + 35)
        is_right = shift <= timedelta(minutes=5) and is_kept
        zoned = at.astimezone(timezone(timedelta(hours=rng.randint(-14, 14))))
        status, state = ask("POST", f"m{number}", {"at": zoned.isoformat()})
        assert (status, state.get("period")) == ((200, str(monday)) if is_right else (400, None)), at
        # Whatever was tried before, the member plays now.
        assert ask("POST", f"n{number}", {"at": zoned.isoformat()})[0] == status
        if not is_right:
            assert ask("POST", f"n{number}")[1]["period"] == "2026-11-16"


@pytest.mark.parametrize("seed", seeds(2, 20))
def test_whatever_the_body_is_an_answer_comes_and_a_seat_only_with_200(ask: Call, stack: Stack, seed: int) -> None:
    rng = random.Random(seed)
    answers: Counter[int] = Counter()
    for number in range(200):
        body = [*'{"at": "2026-11-17T10:00:00Z"}']
        for place in sorted(rng.sample(range(len(body)), rng.randint(0, 2)), reverse=True):
            body[place : place + rng.randint(0, 2)] = rng.choice([*'0123456789-Z"[{', "", "\ud800", "é", "\0"])
        answers[ask("POST", f"m{number}", "".join(body))[0]] += 1
    seats = [item for item in stack.dynamodb.scan(TableName="League")["Items"] if item["sk"]["S"].startswith("m")]
    assert {*answers} == {200, 400}
    assert len(seats) == answers[200]


def test_a_group_without_a_score_holds_nobody_up(ask: Call, stack: Stack) -> None:
    """A week is final an hour and five minutes after its end. Until then somebody may score."""

    def at(text: str) -> None:
        stack.clock.milliseconds = round(datetime.fromisoformat(text).timestamp() * 1000)

    at("2026-11-17T10:00:00Z")
    assert [ask("POST", "ann")[0], ask("POST", "bob")[0]] == [200, 200]
    at("2026-11-23T01:04:59Z")
    assert ask("POST", "ann")[0] == 409
    at("2026-11-23T01:05:00Z")
    status, state = ask("POST", "ann")
    assert (status, state["period"], state["division"]) == (200, "2026-11-23", "bronze")
    points = {"id": "1", "board": state["board"], "member": "ann", "metrics": {"points": 1}}
    apply(stack, [{**points, "at": "2026-11-23T01:05:00Z"}])
    at("2026-11-30T23:59:59Z")
    assert [ask("POST", "ann")[0], ask("POST", "bob")[0]] == [409, 200]
    at("2026-12-01T00:00:00Z")
    assert ask("POST", "ann")[0] == 200
