"""The real template in the embedded AWS: every rank is right, and stacks do not disturb each other."""

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
from tests.support.aws.deployed_api import answer_of

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("deployment")]

MEMBERS = 200


def test_every_rank_is_right_whatever_the_order_and_the_duplicates(deployment: Deployment) -> None:
    rng = Random(9)
    applied = datetime.now(UTC)
    activity = generate(9, "demo-shuffled", applied, MEMBERS)
    messages = [*activity.messages, *rng.choices(activity.messages, k=30)]
    rng.shuffle(messages)

    feed.post(deployment, messages, _ignore)
    feed.drain(deployment, _ignore)
    feed.settle(deployment)

    reader, now = Reader(deployment.api_url, "demo-shuffled"), datetime.now(UTC)
    report = check.check_rankings(reader, activity.events, applied, now)
    report.merge(check.check_members(reader, activity.events, applied, now, _ignore))
    assert report.differences == []
    assert report.rankings == len(check.periods(now))
    assert report.ranks > 3 * MEMBERS
    assert [one for one in feed.refused(deployment) if "demo-shuffled" in one] == []


@pytest.mark.thorough
def test_a_second_stack_has_a_life_of_its_own(deployment: Deployment) -> None:
    with deployed(print) as other:
        feed.post(other, [_event("only-there")], _ignore)
        feed.drain(other, _ignore)
        feed.settle(other)
        assert Reader(other.api_url, "demo-beside").rank("all", "only-there") is not None
        assert Reader(deployment.api_url, "demo-beside").rank("all", "only-there") is None

    with socket.socket() as probe:
        address = urlsplit(other.endpoint)
        assert probe.connect_ex((str(address.hostname), int(address.port or 0))) != 0
    assert not other.log.parent.exists()
    assert feed.lag(deployment) > 0


@pytest.mark.thorough
def test_a_refused_message_ends_in_the_dead_letter_queue_with_its_reason(
    deployment: Deployment,
) -> None:
    feed.post(deployment, [_event("someone", metrics={"beauty": 1}), _event("someone")], _ignore)
    feed.drain(deployment, _ignore)
    feed.settle(deployment)

    (refusal,) = [one for one in feed.refused(deployment) if '"someone"' in one]
    assert "beauty" in refusal.rpartition("}")[2]
    answer = Reader(deployment.api_url, "demo-beside").rank("all", "someone")
    assert answer is not None
    assert answer["score"] == 1


@pytest.mark.thorough
def test_upkeep_from_the_command_line(deployment: Deployment) -> None:
    feed.post(deployment, [_event("kept"), _event("refused", metrics={"beauty": 2})], _ignore)
    feed.drain(deployment, _ignore)
    feed.settle(deployment)

    (audit,) = _command_line(deployment, "audit", "demo-beside")
    assert (audit["done"], audit["drift"]) == (True, 0)
    assert audit["boards"][0]["looked_at"]["members"] > 0
    (letters,) = _command_line(deployment, "dlq", "list", "--reason", "beauty")
    assert letters["done"]
    assert any("refused" in letter["members"] for letter in letters["messages"])
    (parked,) = _command_line(deployment, "parked", "list")
    assert (parked["done"], parked["objects"]) == (True, [])


@pytest.mark.thorough
def test_a_file_from_the_command_line(deployment: Deployment, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("who,points\nann,3\nann,3\n用户,4\n", encoding="utf-8")
    rows = ["post", "--csv", str(file), "--board", "demo-posted", "--column", "member=who"]
    assert _command_line(deployment, *rows)[0]["posted"] == 3
    assert _command_line(deployment, *rows, "--again")[0]["posted"] == 3
    (one,) = _command_line(deployment, "post", "demo-posted", "ann", "points=-1")
    assert len(one["id"]) == 32
    feed.drain(deployment, _ignore)
    feed.settle(deployment)

    entries = answer_of(deployment, "GET", "/boards/demo-posted/points/all", None)[1]["entries"]
    assert {entry["member"]: entry["score"] for entry in entries} == {"ann": 5, "用户": 4}


def _command_line(deployment: Deployment, *arguments: str) -> list[dict[str, Any]]:
    command = [
        sys.executable,
        "-m",
        "standings_cli",
        "--endpoint-url",
        deployment.endpoint,
        "--region",
        "us-east-1",
        "--json",
    ]
    environment = {**os.environ, "NO_PROXY": urlsplit(deployment.endpoint).hostname or ""}
    done = subprocess.run(
        [*command, *arguments], env=environment, cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.thorough
def test_events_posted_over_http_are_counted(deployment: Deployment) -> None:
    event = {**json.loads(_event("over-http")), "metrics": {"points": 7}}
    del event["at"]
    other = {**event, "id": "x", "metrics": {"beauty": 1}}
    for _ in range(2):
        status, answer = answer_of(deployment, "POST", "/events", [event, other])
        assert status == HTTPStatus.ACCEPTED
        assert [result["status"] for result in answer["results"]] == ["queued", "refused"]
    assert answer_of(deployment, "POST", "/events", "event")[1]["type"] == "urn:standings:bad-body"
    status, answer = answer_of(deployment, "DELETE", "/events", None)
    assert (status, answer["type"]) == (HTTPStatus.METHOD_NOT_ALLOWED, "urn:standings:method-not-allowed")

    feed.drain(deployment, _ignore)
    feed.settle(deployment)
    found = Reader(deployment.api_url, "demo-beside").rank("all", "over-http")
    assert found is not None
    assert found["score"] == 7


@pytest.mark.thorough
def test_members_are_banned_brought_back_and_removed_over_http(deployment: Deployment) -> None:
    ranking, member = "/boards/demo-care/points/all", "/boards/demo-care/member"
    scores = {"first": 30, "second": 20, "third": 10, "#%2F?&用户": 5}
    feed.post(deployment, [_event(name, {"points": points}, "demo-care") for name, points in scores.items()], _ignore)
    feed.drain(deployment, _ignore)

    def listed() -> list[tuple[int, str]]:
        feed.settle(deployment)
        entries = answer_of(deployment, "GET", ranking, None)[1]["entries"]
        return [(entry["rank"], entry["member"]) for entry in entries]

    assert listed() == list(enumerate(scores, start=1))
    hidden = answer_of(deployment, "PUT", f"{member}?id=first", {"hidden": True})
    assert hidden == (HTTPStatus.OK, {"board": "demo-care", "member": "first", "hidden": True})
    assert listed() == list(enumerate([*scores][1:], start=1))
    group = answer_of(deployment, "POST", f"{ranking}/ranks", {"members": ["third", "first", "#%2F?&用户"]})[1][
        "entries"
    ]
    assert [(entry["rank"], entry["group_rank"]) for entry in group] == [(2, 1), (None, None), (3, 2)]
    assert answer_of(deployment, "PUT", f"{member}?id=first", {"hidden": False})[0] == HTTPStatus.OK
    assert answer_of(deployment, "DELETE", f"{member}?id={quote('#%2F?&用户', safe='')}", None) == (
        HTTPStatus.NO_CONTENT,
        None,
    )
    assert listed() == list(enumerate([*scores][:3], start=1))
    reads: dict[str, dict[str, Any]] = {
        f"{ranking}?around=second&radius=1": {"total": 3},
        f"{ranking}?rank=3&limit=1&method=ordinal": {"next": None},
        f"{ranking}/rank?score=15": {"rank": 3, "above": 2, "at": 0, "below": 1},
        f"{ranking}/percentile?p=50": {"score": 20},
        f"{ranking}/distribution?buckets=2": {"buckets": [{"from": 0, "to": 15, "members": 1}, _BOTH_ABOVE_15]},
        f"{member}?id=first&ranks=true": {"member": "first", "hidden": False},
        "/boards?prefix=demo-care": {"boards": [{"board": "demo-care"}], "next": None},
        "/boards/demo-care": {"family": "demo-*"},
        "/openapi.json": {"openapi": "3.1.0"},
    }
    for path, found in reads.items():
        status, answer = answer_of(deployment, "GET", path, None)
        assert (status, {name: answer[name] for name in found}) == (HTTPStatus.OK, found), path


_BOTH_ABOVE_15 = {"from": 16, "to": 31, "members": 2}


def _event(member: str, metrics: dict[str, int] | None = None, board: str = "demo-beside") -> str:
    return json.dumps(
        {
            "id": f"{Random().getrandbits(96):024x}",
            "board": board,
            "member": member,
            "at": datetime.now(UTC).isoformat(),
            "metrics": metrics or {"points": 1},
        }
    )


def _ignore(*_: int) -> None:
    """Ignore progress."""
