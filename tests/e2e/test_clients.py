"""Clients of the deployed stack: those of docs/how-to/clients.md, made, type-checked and run as typed; and our own."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from demo.embedded.stack import LOCAL, PROJECT, Deployment
from demo.reads import Reader
from tests.support.aws.deployed_api import answer_of, count, event, invoked, scores_of
from tests.support.aws.embedded_tools import NO_TOOLS
from tests.support.aws.examples import deploy
from tests.support.documents.pages import NEEDS_PACKAGES, blocks
from tests.support.dynamodb.local import NO_NPM
from tests.support.programs import output

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("deployment")]

PAGE: Final = PROJECT / "docs" / "how-to" / "clients.md"
BOARD: Final = "demo-clients"
CLIENTS: Final = LOCAL / "tools" / "clients" / "bin"
GENERATOR: Final = (PROJECT / "requirements" / "clients.in").read_text(encoding="utf-8").strip()
INSTALLS: Final = {"npm install --no-package-lock", f"pip install {GENERATOR}"}
"""`make setup` has done these."""
TYPED: Final = {
    block.commands[0].removeprefix("cd "): block.commands[1:] for block in blocks(PAGE) if block.needs == NEEDS_PACKAGES
}
"""The commands on the page by the example in whose folder they are typed."""
REFUSED: Final = {
    '{window}/rank"': '{window}/ranking"',
    "limit: 10": 'limit: "10"',
    "{ id, status, detail }": "{ id, state, detail }",
    "data.me?.ahead": "data.ahead",
}
"""What the program says, and a mistake in its place."""

Run = Callable[..., str]


@pytest.fixture
def run(deployment: Deployment, tmp_path: Path) -> Run:
    """Copies an example, and runs commands there: those of the page, but for the installation, if none are given.

    It answers what they print.
    """

    def typed(example: str, *commands: str) -> str:
        folder = tmp_path / example
        install, *others = TYPED[example]
        assert install in INSTALLS
        if not folder.exists():
            shutil.copytree(
                PROJECT / example, folder, ignore=shutil.ignore_patterns("node_modules", "schema.ts", "built")
            )
            # The copy has what npm has installed for the example.
            if (PROJECT / example / "package.json").exists():
                installed = LOCAL / example / "node_modules"
                if not installed.exists():
                    pytest.skip(NO_NPM)
                (folder / "node_modules").symlink_to(installed)
            elif not (CLIENTS / "openapi-python-client").exists():
                pytest.skip(NO_TOOLS)
        deployed = {"API_URL": deployment.api_url, "QUEUE_URL": deployment.queue_url, "AWS_REGION": "us-east-1"}
        environment = {**os.environ, **deployed, "AWS_ENDPOINT_URL": deployment.endpoint}
        environment["PATH"] = os.pathsep.join([str(CLIENTS), os.environ["PATH"]])
        environment["NO_PROXY"] = str(urlsplit(deployment.endpoint).hostname)
        script = "\n".join(["set -euo pipefail", *(commands or others)])
        return output(["bash", "-c", script], cwd=folder, env=environment)

    return typed


def test_a_program_in_typescript(run: Run, deployment: Deployment) -> None:
    count(deployment, [event(BOARD, "ahead-of-ann", 6)])
    printed = run("examples/clients/typescript")
    _check(deployment, printed, "ann")


def test_the_compiler_refuses_what_the_api_would(run: Run) -> None:
    example = "examples/clients/typescript"
    _, generate, compile_, _ = TYPED[example]
    run(example, generate)
    program = (PROJECT / example / "program.ts").read_text(encoding="utf-8").splitlines()
    wrong = {number for number, line in enumerate(program, 1) if any(right in line for right in REFUSED)}
    assert len(wrong) == len(REFUSED)
    mistakes = [f"sed -i 's%{right}%{mistake}%' program.ts" for right, mistake in REFUSED.items()]
    with pytest.raises(AssertionError, match="error TS") as refused:
        run(example, *mistakes, compile_)
    assert wrong <= {int(line) for line in re.findall(r"program\.ts\((\d+),", str(refused.value))}


def test_a_program_in_python(run: Run, deployment: Deployment) -> None:
    count(deployment, [event(BOARD, "ahead-of-bob", 6)])
    printed = run("examples/clients/python")
    _check(deployment, printed, "bob")

    check = f"{PROJECT}/.venv/bin/mypy --strict --python-executable {CLIENTS}/python program.py"
    run("examples/clients/python", check)
    with pytest.raises(AssertionError, match="has no attribute"):
        run("examples/clients/python", "sed -i 's/page.me.ahead/page.ahead/' program.py", check)


def _check(deployment: Deployment, printed: str, member: str) -> None:
    """The program has printed what the API says to a client that knows no types."""
    lines = printed.splitlines()
    assert any(line.startswith("event ") and line.endswith(": queued ") for line in lines), printed
    reader = Reader(deployment.api_url, BOARD)
    found = reader.rank("all", member)
    assert found is not None
    assert found["score"] == 5
    (rank,) = [line for line in lines if line.startswith(f"{member} is number ")]
    assert rank.endswith(f" of {found['total']} with 5")
    assert f"{found['rank']}. {member} 5" in lines
    entries = answer_of(deployment, "GET", f"/boards/{BOARD}/points/all?around={member}&radius=1", None)[1]["entries"]
    assert entries[1]["member"] == member
    assert f"next: {entries[0]['member']}" in lines
    counted = [int(line.rpartition(": ")[2]) for line in lines if " to " in line]
    assert sum(counted) == found["total"]


def test_a_producer_in_node_may_run_twice(run: Run, deployment: Deployment) -> None:
    printed = run("examples/node-producer")
    assert printed.splitlines() == ["sent 3", "sent 3"]
    count(deployment)
    scores = scores_of(deployment, BOARD)
    assert (scores["cem"], scores["dana"]) == (15, 7)


def test_a_function_of_another_stack_posts_and_reads(deployment: Deployment) -> None:
    function = deploy(deployment, "reader")["RunFunctionName"]
    count(deployment, [event("demo-reader", "ahead", 5)])

    def run(**said: Any) -> Any:
        return invoked(deployment, function, {"board": "demo-reader", "member": "me", **said})

    assert run() == {"rank": None, "around": []}
    for _ in range(2):
        run(id="run-17", points=3)
    count(deployment)
    assert run() == {
        "rank": 2,
        "around": [{"rank": 1, "member": "ahead", "score": 5}, {"rank": 2, "member": "me", "score": 3}],
    }


ASKS: Final = """
import json, sys, time
from app import app

backend = app.test_client()
run = {"id": "run-1", "member": "u/1", "points": 3}
assert backend.post("/runs", json=run).status_code == backend.post("/runs", json=run).status_code == 202
until = time.monotonic() + 60
while (answer := backend.get("/ranks/u/1")).status_code == 404:
    assert time.monotonic() < until
    time.sleep(0.5)
wrong = backend.post("/runs", json={**run, "points": "many"})
nobody = backend.get("/ranks/nobody")
print(json.dumps([answer.json, [wrong.status_code, wrong.json["type"]], [nobody.status_code, nobody.json["type"]]]))
"""


def test_a_backend_in_flask_counts_and_answers(deployment: Deployment) -> None:
    environment = {
        **os.environ,
        "AWS_ENDPOINT_URL": deployment.endpoint,
        "NO_PROXY": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join(map(str, (PROJECT / "examples" / "backend", PROJECT / "layers" / "standings"))),
    }
    command = [sys.executable, "-c", ASKS]
    folder = PROJECT / "layers" / "standings"  # boards.toml is there
    answer, wrong, nobody = json.loads(output(command, env=environment, cwd=folder))

    path = "/boards/demo-backend/points/last-7-days/rank?member=u%2F1"
    assert answer == answer_of(deployment, "GET", path)[1]
    assert answer["score"] == 3
    assert wrong == [400, "urn:standings:bad-body"]
    assert nobody == [404, "urn:standings:no-such-member"]
