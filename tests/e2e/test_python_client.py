"""The examples that use the client, against the deployed stack: a function of another stack, and a backend in Flask."""

import json
import os
import sys
from typing import Any, Final

import pytest

from demo.embedded.stack import PROJECT, Deployment
from tests.support.aws.deployed_api import answer_of, count, event, invoked
from tests.support.aws.examples import deploy
from tests.support.programs import output

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("deployment")]


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
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_DEFAULT_REGION": "us-east-1",
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
