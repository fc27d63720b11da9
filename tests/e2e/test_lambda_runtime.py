"""The built functions in Lambda's own runtime, each with its sample events, beside the deployed stack.

`sam build` made the layer and the functions. They run without Docker: under the runtime interface emulator of sam's
containers, with Lambda's Python client. They can import only what Lambda brings.
"""

import json
import os
import platform
import socket
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from demo.embedded.stack import LOCAL, PROJECT, Deployment
from tests.support.aws.deployed_api import count
from tests.support.aws.embedded_tools import NO_TOOLS
from tests.support.aws.servers import free_port, started

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("deployment")]

EVENTS: Final = PROJECT / "events"
PYTHON: Final = LOCAL / "tools" / "lambda" / "bin" / "python"
PATIENCE_S: Final = 30.0
ARM: Final = platform.machine().lower() in {"arm64", "aarch64"}


def emulator() -> Path:
    """Lambda's runtime interface emulator for this processor, as sam carries it."""
    name = f"aws-lambda-rie-{'arm64' if ARM else 'x86_64'}"
    found = list((LOCAL / "tools" / "sam").glob(f"lib/python*/site-packages/samcli/local/rapid/{name}"))
    if platform.system() != "Linux":
        pytest.skip("Lambda's runtime interface emulator runs on Linux only")
    if not found or not PYTHON.exists():
        pytest.skip(NO_TOOLS)
    return found[0]


class Runtime:
    """A function that is started and kept warm as on Lambda."""

    def __init__(self, port: int, log: Path) -> None:
        self._address = f"http://127.0.0.1:{port}/2015-03-31/functions/function/invocations"
        self._log = log

    def invoke(self, event: str) -> dict[str, Any]:
        """Return the answer to a sample event."""
        request = urllib.request.Request(self._address, (EVENTS / f"{event}.json").read_bytes())  # noqa: S310 - loopback
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=PATIENCE_S) as response:
            answer: dict[str, Any] = json.load(response)
            return answer

    def metrics(self) -> set[str]:
        """Return the names of the metrics in the function's log."""
        lines = self._log.read_text(encoding="utf-8").splitlines()
        told = [json.loads(line) for line in lines if '"_aws"' in line]
        return {one["Name"] for line in told for each in line["_aws"]["CloudWatchMetrics"] for one in each["Metrics"]}


@contextmanager
def running(function: str, build: Path, variables: Mapping[str, str], directory: Path) -> Iterator[Runtime]:
    """Start a built function with its layer, in the environment that Lambda gives it."""
    task, log = build / function, directory / f"{function}.log"
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{task}{os.pathsep}{build / 'StandingsLayer' / 'python'}",
        "LAMBDA_TASK_ROOT": str(task),
        "AWS_LAMBDA_FUNCTION_NAME": function,
        **dict.fromkeys(("AWS_REGION", "AWS_DEFAULT_REGION"), "us-east-1"),
        **dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "embedded"),
        "NO_PROXY": "127.0.0.1",
        **variables,
    }

    def command(port: int) -> list[str]:
        own = [str(emulator()), "--runtime-interface-emulator-address", f"127.0.0.1:{port}"]
        own += ["--runtime-api-address", f"127.0.0.1:{free_port()}"]
        return [*own, str(PYTHON), "-m", "awslambdaric", "app.handler"]

    def answers(port: int, _: int) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    with (
        log.open("wb") as output,
        started(command, answers, env=environment, cwd=task, stdout=output, stderr=output) as port,
    ):
        yield Runtime(port, log)


def test_every_sample_does_its_work(deployment: Deployment, tmp_path: Path) -> None:
    emulator()
    build = deployment.log.parent / "build"
    environments = deployment.environments()
    assert {path.name for path in build.glob("*Function")} == environments.keys()
    with ExitStack() as stack:
        functions = {
            name: stack.enter_context(running(name, build, variables, tmp_path))
            for name, variables in environments.items()
        }
        invoke_all(lambda: count(deployment), lambda function, event: functions[function].invoke(event))
        told = {name.removesuffix("Function"): function.metrics() for name, function in functions.items()}
    assert {"EventsApplied", "EventsDuplicate", "EventsRefused", "QueueToScore"} <= told["Writer"]
    assert {"Moves", "WriteToRank"} <= told["Projector"]
    assert "Drift" in told["Maintenance"]


def invoke_all(catch_up: Callable[[], None], run: Callable[[str, str], dict[str, Any]]) -> None:
    """Give every sample to its function. Each builds on the effects of the last, and those of the stack's functions."""
    invoked = {path.stem for path in EVENTS.glob("*.json")}

    def invoke(function: str, event: str) -> dict[str, Any]:
        invoked.discard(event)
        answer = run(f"{function}Function", event)
        assert "errorType" not in answer, (event, answer)
        return answer

    def rank() -> tuple[int, dict[str, Any]]:
        answer = invoke("Query", "read-rank")
        return answer["statusCode"], json.loads(answer["body"])

    def page() -> list[tuple[int, str, int]]:
        catch_up()
        answer = invoke("Query", "read-page")
        assert answer["statusCode"] == 200
        return [(one["rank"], one["member"], one["score"]) for one in json.loads(answer["body"])["entries"]]

    nothing_failed: dict[str, Any] = {"batchItemFailures": []}
    assert rank()[0] == 404
    assert invoke("Projector", "scores-stream") == nothing_failed
    status, found = rank()
    assert (status, found["rank"], found["score"], found["total"]) == (200, 1, 8, 1)

    for _ in range(2):
        assert invoke("Writer", "activity") == nothing_failed
        assert page() == [(1, "用户", 12), (2, "u123", 8)]
    assert rank()[1]["percentile"] == 50

    assert invoke("Writer", "activity-refused") == nothing_failed
    assert page() == [(1, "用户", 12), (2, "u123", 11)]
    letters = invoke("Maintenance", "list-dead-letters")["messages"]
    assert {"body", "metrics.points"} <= {letter["reason"].split(":")[0] for letter in letters}

    posted = invoke("Command", "post-events")
    results = json.loads(posted["body"])["results"]
    assert (posted["statusCode"], [one["status"] for one in results]) == (202, ["queued", "queued", "refused"])
    assert page() == [(1, "u123", 14), (2, "u124", 12), (2, "用户", 12)]

    hidden = invoke("Command", "put-member")
    assert (hidden["statusCode"], json.loads(hidden["body"])["hidden"]) == (200, True)
    assert page() == [(1, "u124", 12), (1, "用户", 12)]
    assert rank()[0] == 404

    audit = invoke("Maintenance", "audit")
    assert (audit["done"], audit["drift"], audit["boards"][0]["looked_at"]["members"]) == (True, 0, 3)
    assert invoke("Maintenance", "replay-parked")["placed"] == 0
    rebuild = invoke("Maintenance", "rebuild")
    assert (rebuild["done"], rebuild["phase"]) == (False, "announced")
    assert invoke("Command", "delete-member")["statusCode"] == 204

    calls = [("Command", "put-profile"), ("Query", "read-profile"), ("Query", "search-names")]
    calls += [("Command", "delete-profile"), ("Query", "read-profile")]
    assert [invoke(*call)["statusCode"] for call in calls] == [200, 200, 200, 204, 404]
    erased = invoke("Maintenance", "erase")
    assert (erased["done"], erased["problems"]) == (True, [])
    assert invoked == set()
