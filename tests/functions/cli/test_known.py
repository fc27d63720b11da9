"""`standings post` where the API says which events are known, says it late, or does not say it."""

import json
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest

from standings.client.errors import NoAnswerError
from standings_cli.terminal import OK
from tests.support.cli.command_line import Run

BOARDS = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all"] }
"""
UNREACHABLE = NoAnswerError("no answer from http://a: refused")
THROTTLED = SimpleNamespace(status=429, data=b'{"message": "Too Many Requests"}')
FORBIDDEN = SimpleNamespace(status=403, data=b'{"message": "Forbidden"}')
OF_0_3 = SimpleNamespace(
    status=400, data=b'{"type": "urn:standings:bad-argument", "detail": "dry_run: no such argument"}'
)
FOREIGN = SimpleNamespace(status=200, data=b"{}")


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    space = " " * 9_999  # Of 100 rows a request would be too large
    row = '{{"member":"m{n}",{space}"metrics":{{"points":1}}}}\n'
    Path("rows.jsonl").write_text("".join(row.format(n=n, space=space) for n in range(150)))
    return "post --jsonl rows.jsonl --board b --again --json"


@pytest.mark.parametrize(
    ("answers", "known", "said"),
    [
        ([], 150, ""),
        (["", THROTTLED, UNREACHABLE], 150, ""),
        ([UNREACHABLE], None, "no answer from http://a: refused"),
        ([THROTTLED], None, "Too Many Requests"),
        ([FORBIDDEN], None, "Forbidden"),
        ([OF_0_3], None, "dry_run: no such argument"),
        (["", FOREIGN], None, "the answer is not that of a stack's API"),
    ],
)
def test_who_is_not_told_what_is_known_posts_all_the_same(
    run: Run, connection: Any, rows: str, answers: list[Any], known: int | None, said: str
) -> None:
    assert run(rows).status == OK
    real, given = connection.api.transport, iter(answers)

    class Answering:
        def send(self, *request: Any) -> Any:
            answer = next(given, "")
            if isinstance(answer, Exception):
                raise answer
            return answer or real.send(*request)

    connection.api = replace(connection.api, transport=Answering())
    ran = run(rows)
    summary = json.loads(ran.out)
    assert (ran.status, summary["known"], summary["finished"]) == (OK, known, True), ran
    assert said in ran.err
    assert ("known rows are counted as posted" in ran.err) == bool(said)


def test_an_api_that_has_answered_is_asked_of_several_parts_at_a_time(
    run: Run, connection: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text("".join(f'{{"member":"m{n}","metrics":{{"points":1}}}}\n' for n in range(300)))
    others, new = Barrier(2, timeout=60), [{"status": "new", "detail": None}] * 100

    class Slow:
        requests = 0

        def send(self, *_: Any) -> Any:
            self.requests += 1
            if self.requests > 1:  # Each of the other two is answered once both are there
                others.wait()
            return SimpleNamespace(status=202, data=json.dumps({"results": new}).encode())

    connection.api = replace(connection.api, transport=Slow())
    ran = run("post --jsonl rows.jsonl --board b --json")
    assert (ran.status, json.loads(ran.out)["known"]) == (OK, 0)
