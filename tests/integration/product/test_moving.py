"""The page about moving from Redis or PlayFab, against a real Redis: totals land in `all` and in no other window."""

import csv
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from standings_cli.__main__ import main
from standings_cli.terminal import OK
from tests.support.aws.stack import ManualClock, Stack, apply, running
from tests.support.cli.command_line import connected
from tests.support.dynamodb.tables import engine_with_tables

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "move-from-redis.md").read_text(encoding="utf-8")
BOARD = "berlin-2026"
OTHERS = ("hour", "day", "week", "month", "year", "last-7-days", "last-90-days")
BOARDS = f"""
[boards."*"]
late = "30 days"
metrics.points = {{ aggregate = "sum", precision = 2, windows = ["all", {", ".join(f'"{name}"' for name in OTHERS)}] }}
"""
NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
HOSTILE = ("a,b", 'a"b', "a\nb", " m", "用户", "=1+1", "m" * 256)


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Stack]:
    engine = engine_with_tables(shards=2, expire=False)
    clock = ManualClock(int(NOW.timestamp() * 1000))
    monkeypatch.setattr("time.time_ns", lambda: clock() * 1_000_000)
    monkeypatch.chdir(tmp_path)
    with running(engine, clock, BOARDS) as deployed:
        yield deployed


def commands(name: str) -> list[list[str]]:
    """The commands of the page that post this file."""
    lines = [line.removeprefix("$ ") for line in PAGE.splitlines() if line.startswith("$ standings post")]
    return [shlex.split(line)[1:] for line in lines if f"--csv {name} " in line]


def post(stack: Stack, arguments: list[str]) -> None:
    """Post a file, and count what is on the queue."""
    with connected(stack) as there:
        there.knows_api = False
        assert main(arguments, lambda _: there) == OK
        there.settle()


def export(redis: Any, decimals: int = 2) -> str:
    """Run the program of the page, which writes totals.csv. Return what it says of rounded scores."""
    program = PAGE.partition("```python\n")[2].partition("```")[0]
    port = redis.connection_pool.connection_kwargs["port"]
    arguments = [f"redis://127.0.0.1:{port}", "totals", BOARD, str(decimals)]
    run = subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True, text=True)
    return run.stderr


def scores(stack: Stack, window: str = "all") -> dict[str, float]:
    entries = stack.entries(f"/boards/{BOARD}/points/{window}")
    return {entry["member"]: entry["score"] for entry in entries}


def totals(redis: Any) -> dict[str, float]:
    return {member: round(score, 2) for member, score in redis.zrange("totals", 0, -1, withscores=True)}


def test_the_program_names_each_score_that_it_rounds(redis: Any, stack: Stack) -> None:
    del stack  # the file is written in its folder
    redis.zadd("totals", {"ann": 12.5, "bob": 12, "cem": 0.1})
    redis.zincrby("totals", 0.2, "cem")

    assert export(redis, 1) == ""
    assert sorted(export(redis, 0).splitlines()) == ["ann: 12.5 becomes 12", "cem: 0.30000000000000004 becomes 0"]


def test_totals_of_redis_land_in_all_alone(stack: Stack, redis: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rng = Random(1)
    members = [*(f"m{n}" for n in range(150)), *HOSTILE]
    for member in members:
        redis.zincrby("totals", rng.choice([0.1, 0.2, 7, rng.randrange(-5_000, 90_000) / 100]), member)
        redis.zincrby("totals", rng.choice([0, 0.2]), member)
    export(redis)
    dry, real = commands("totals.csv")
    assert dry[-1] == "--dry-run"
    post(stack, dry)
    assert stack.get("/boards")[1]["boards"] == []
    capsys.readouterr()
    post(stack, real)

    assert "without `at`" not in capsys.readouterr().err
    assert stack.dead_letters.reasons() == []
    assert scores(stack) == totals(redis)
    for window in OTHERS:
        assert scores(stack, window) == {}

    # A later copy: what has changed meanwhile is refused, and nothing counts twice.
    before = totals(redis)
    redis.zincrby("totals", 5, "m7")
    export(redis)
    post(stack, [*real, "--again"])
    assert scores(stack) == before
    (reason,) = stack.dead_letters.reasons()
    assert "was used before, for an event with other content" in reason

    # What happens from now on counts everywhere.
    event = {"id": "new", "board": BOARD, "member": "m7", "at": NOW.isoformat(), "metrics": {"points": 5}}
    stack.dead_letters.messages.clear()
    apply(stack, [event])
    assert scores(stack) == totals(redis)
    for window in OTHERS:
        assert scores(stack, window) == {"m7": 5}


ROW = re.compile(r"\| `(Z[A-Z]+ k.*?)` \| `(GET|POST) ([^`]+)`(?: `(\{.+?\})`)? \|")
"""A row of the page with one command of Redis and one call."""
CALL = re.compile(r"`GET (\{ranking\}[^`]*)`")
RANKING = f"/boards/{BOARD}/points/all"


def as_redis(command: str, answer: dict[str, Any]) -> Any:
    """What Redis says, from the answer of the API, as the page tells it."""
    entries = [[entry["member"], entry["score"]] for entry in answer.get("entries", ())]
    says: dict[str, Callable[[], Any]] = {
        "ZREVRANGE": lambda: entries,
        "ZREVRANGEBYSCORE": lambda: entries,
        "ZRANGE": lambda: entries[::-1],
        "ZREVRANK": lambda: answer["rank"] - 1,
        "ZRANK": lambda: answer["total"] - answer["rank"],
        "ZSCORE": lambda: answer["score"],
        "ZMSCORE": lambda: [score for _, score in entries],
        "ZCARD": lambda: answer["total"],
        "ZCOUNT": lambda: answer["above"] + answer["at"],
    }
    return says[command]()


def test_each_command_of_redis_has_the_call_of_the_page(stack: Stack, redis: Any) -> None:
    rng = Random(2)
    points = dict(zip((f"m{n}" for n in range(60)), rng.sample(range(1, 100_000), 60), strict=True))
    for member, amount in points.items():
        redis.zincrby("k", amount / 100, member)
    about = {"board": BOARD, "at": NOW.isoformat()}
    rows = [{"id": member, "member": member, **about, "metrics": {"points": n / 100}} for member, n in points.items()]
    apply(stack, rows)

    compared = set()
    for text, method, path, body in ROW.findall(PAGE):
        if "{ranking}" not in path:
            continue
        call, _, query = path.replace("{ranking}", RANKING).partition("?")
        arguments = dict(part.split("=") for part in query.split("&") if part)
        status, answer = stack.get(call, **arguments) if method == "GET" else stack.post(call, json.loads(body))
        assert status == 200, (text, answer)
        command = text.split()[0]
        assert as_redis(command, answer) == redis.execute_command(*text.split()), text
        compared.add(command)
    assert len(compared) == 9, compared

    redis.execute_command(*["ZADD", "k", "50", "m7"])
    apply(stack, [{"id": "set", "member": "m7", **about, "metrics": {"points": 50}, "set": True}])
    assert scores(stack) == dict(redis.zrange("k", 0, -1, withscores=True))

    for call in CALL.findall(PAGE):
        path, _, query = call.replace("{ranking}", RANKING).partition("?")
        assert stack.get(path, **dict(part.split("=") for part in query.split("&") if part))[0] == 200, call


def test_a_leaderboard_of_playfab_lands_in_all_alone(stack: Stack) -> None:
    with Path("playfab.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["Position", "PlayFabId", "DisplayName", "StatValue"])
        rows.writerows([n, f"PF{n}", f"Name, {n}", 1_000 - n] for n in range(150))
    (command,) = commands("playfab.csv")
    post(stack, command)
    post(stack, command)
    assert scores(stack) == {f"PF{n}": 1_000 - n for n in range(150)}
    for window in OTHERS:
        assert scores(stack, window) == {}
