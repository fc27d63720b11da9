"""The real template in the embedded AWS: every rank is right, every route serves, stacks do not disturb each other."""

import json
import os
import socket
import subprocess
import sys
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from demo import check, feed
from demo.activity import generate
from demo.embedded.stack import PROJECT, Deployment, deployed
from demo.reads import Reader
from tests.support.aws.deployed_api import answer_of, count, event, scores_of

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("deployment")]

MEMBERS = 200
ADAM = {"name": "Ádám", "picture": "https://pictures.example/adam.png", "country": "HU", "data": {"team": "red"}}


def test_every_rank_is_right_whatever_the_order_and_the_duplicates(deployment: Deployment) -> None:
    rng = Random(9)
    applied = datetime.now(UTC)
    activity = generate(9, "demo-shuffled", applied, MEMBERS)
    messages = [*activity.messages, *rng.choices(activity.messages, k=30)]
    rng.shuffle(messages)
    count(deployment, messages)

    reader, now = Reader(deployment.api_url, "demo-shuffled"), datetime.now(UTC)
    report = check.check_rankings(reader, activity.events, applied, now)
    report.merge(check.check_members(reader, activity.events, applied, now, lambda *_: None))
    assert report.differences == []
    assert report.rankings == len(check.periods(now))
    assert report.ranks > 3 * MEMBERS
    assert [one for one in feed.refused(deployment) if "demo-shuffled" in one] == []


@pytest.mark.thorough
def test_a_second_stack_has_a_life_of_its_own(deployment: Deployment) -> None:
    with deployed(print) as other:
        count(other, [event("demo-beside", "only-there")])
        assert (scores_of(other, "demo-beside"), scores_of(deployment, "demo-beside")) == ({"only-there": 1}, {})
    with socket.socket() as probe:
        address = urlsplit(other.endpoint)
        assert probe.connect_ex((str(address.hostname), int(address.port or 0))) != 0
    assert not other.log.parent.exists()
    assert feed.lag(deployment) > 0


@pytest.mark.thorough
def test_the_command_line(deployment: Deployment, tmp_path: Path) -> None:
    def standings(*arguments: str) -> list[dict[str, Any]]:
        command = [sys.executable, "-m", "standings_cli", "--endpoint-url", deployment.endpoint]
        command += ["--region", "us-east-1", "--json", *arguments]
        environment = {**os.environ, "NO_PROXY": urlsplit(deployment.endpoint).hostname or ""}
        done = subprocess.run(command, env=environment, cwd=PROJECT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    file = tmp_path / "rows.csv"
    file.write_text("who,points\nann,3\nann,3\n用户,4\n", encoding="utf-8")
    rows = ["post", "--csv", str(file), "--board", "demo-posted", "--column", "member=who"]
    assert standings(*rows)[0]["posted"] == 3
    assert standings(*rows, "--again")[0]["posted"] == 3
    (one,) = standings("post", "demo-posted", "ann", "points=-1")
    assert len(one["id"]) == 32
    count(deployment, [event("demo-posted", "refused", metrics={"beauty": 2})])
    assert scores_of(deployment, "demo-posted") == {"ann": 5, "用户": 4}

    (audit,) = standings("audit", "demo-posted")
    assert (audit["done"], audit["drift"]) == (True, 0)
    assert audit["boards"][0]["looked_at"]["members"] == 2
    (letters,) = standings("dlq", "list", "--reason", "beauty")
    assert letters["done"]
    assert any("refused" in letter["members"] for letter in letters["messages"])
    (parked,) = standings("parked", "list")
    assert (parked["done"], parked["objects"]) == (True, [])


@pytest.mark.thorough
def test_every_route_serves(deployment: Deployment) -> None:
    board = "/boards/demo-care"
    ranking, member, odd = f"{board}/points/all", f"{board}/member", "#%2F?&用户"
    scores = {"first": 30, "second": 20, "third": 10, odd: 5}
    events = [json.loads(event("demo-care", name, points)) for name, points in scores.items()]
    events.append({**events[0], "id": "x", "metrics": {"beauty": 1}})
    # Events that are posted twice count once.
    for _ in range(2):
        status, answer = answer_of(deployment, "POST", "/events", events)
        assert status == HTTPStatus.ACCEPTED
        assert [result["status"] for result in answer["results"]] == [*["queued"] * 4, "refused"]
    assert answer_of(deployment, "DELETE", "/events")[0] == HTTPStatus.METHOD_NOT_ALLOWED

    def listed() -> dict[str, int]:
        count(deployment)
        return dict(scores_of(deployment, "demo-care"))

    assert listed() == scores
    hidden = answer_of(deployment, "PUT", f"{member}?id=first", {"hidden": True})
    assert hidden == (HTTPStatus.OK, {"board": "demo-care", "member": "first", "hidden": True})
    assert list(listed()) == [*scores][1:]
    group = answer_of(deployment, "POST", f"{ranking}/ranks", {"members": ["third", "first", odd]})[1]["entries"]
    assert [(entry["rank"], entry["group_rank"]) for entry in group] == [(2, 1), (None, None), (3, 2)]
    assert answer_of(deployment, "PUT", f"{member}?id=first", {"hidden": False})[0] == HTTPStatus.OK
    assert answer_of(deployment, "DELETE", f"{member}?id={quote(odd, safe='')}") == (HTTPStatus.NO_CONTENT, None)
    assert list(listed()) == [*scores][:3]

    assert answer_of(deployment, "PUT", "/members?id=first", ADAM) == (HTTPStatus.OK, ADAM)
    assert answer_of(deployment, "PUT", "/members?id=u3", {"name": "Adele"})[0] == HTTPStatus.OK
    found = answer_of(deployment, "GET", "/members?name=AD")[1]["members"]
    assert {"first", "u3"} <= {one["member"] for one in found}
    reads: dict[str, dict[str, Any]] = {
        "/members?id=first": ADAM,
        f"/members?name={quote('ÁD')}&board=demo-care": {"members": [{"member": "first", "profile": ADAM}]},
        f"{ranking}?profiles=true&limit=1": {"entries": [{"rank": 1, "member": "first", "score": 30, "profile": ADAM}]},
        f"{ranking}?around=second&radius=1": {"total": 3},
        f"{ranking}?rank=3&limit=1&method=ordinal": {"next": None},
        f"{ranking}/rank?score=15": {"rank": 3, "above": 2, "at": 0, "below": 1},
        f"{ranking}/percentile?p=50": {"score": 20},
        f"{ranking}/distribution?buckets=2": {
            "buckets": [{"from": 0, "to": 15, "members": 1}, {"from": 16, "to": 31, "members": 2}]
        },
        f"{member}?id=first&ranks=true": {"member": "first", "hidden": False},
        "/boards?prefix=demo-care": {"boards": [{"board": "demo-care"}], "next": None},
        board: {"family": "demo-*"},
        "/openapi.json": {"openapi": "3.1.0"},
    }
    for path, expected in reads.items():
        status, answer = answer_of(deployment, "GET", path)
        assert (status, {name: answer[name] for name in expected}) == (HTTPStatus.OK, expected), path
    for one in ("first", "u3"):
        assert answer_of(deployment, "DELETE", f"/members?id={one}") == (HTTPStatus.NO_CONTENT, None)
    assert answer_of(deployment, "GET", "/members?id=first")[0] == HTTPStatus.NOT_FOUND
