"""The assembled functions: imports, connections, time limits, the runtime that they are built for, and `sam local`."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-untyped]

from benchmarks.measure.speed.pace import ENVIRONMENT
from demo import serve
from demo.embedded import emulator
from demo.embedded.stack import PROJECT
from standings.aws.dynamodb.tables import UNPROCESSED_TIMEOUT_S
from standings.rankings.reading import SIDE_BY_SIDE
from standings.read.session import LAST_READ_S
from standings.runtime.clock import RETRIED_FOR_S
from standings.runtime.environment import running
from standings.wiring import building_blocks, rankings
from tests.support.aws.stack import FUNCTIONS
from tests.support.programs import ended
from tests.template.expansion import expanded, source

LIST_MODULES = "import sys, app; print(*sorted(name for name in sys.modules if name.startswith('standings.')))"


@pytest.mark.parametrize(
    ("function", "others"),
    [
        ("writer", {"project.projector", "read.session", "members", "rankings.storing"}),
        ("projector", {"write.writer", "read.session", "ingest", "http"}),
        ("query", {"write.writer", "project.projector", "ingest", "aws.sqs"}),
        ("command", {"write.writer", "project.projector", "read.session", "rankings.storing"}),
    ],
)
def test_a_function_starts_without_what_only_others_need(function: str, others: set[str]) -> None:
    environment = os.environ | ENVIRONMENT | {"PYTHONPATH": str(FUNCTIONS.parent / "layers" / "standings")}
    command = [sys.executable, "-c", LIST_MODULES]
    modules = subprocess.check_output(command, cwd=FUNCTIONS / function, env=environment, text=True)

    assert "standings.wiring.building_blocks" in modules.split()
    assert {f"standings.{name}" for name in others}.isdisjoint(modules.split())


def test_a_client_has_a_connection_for_every_call_under_way() -> None:
    assert max(SIDE_BY_SIDE, rankings.MAX_CALLS) < building_blocks.CONNECTIONS


def test_a_call_that_hangs_leaves_a_function_time_to_answer() -> None:
    timeouts = {name: int(function["Timeout"]) for name, function in expanded(source()).of("Lambda::Function")}

    for name in ("Writer", "Projector", "Maintenance"):
        # A call may start just before the deadline.
        assert building_blocks.MAX_CALL_S < building_blocks.REPORTING_RESERVE < timeouts[f"{name}Function"] / 2
    assert RETRIED_FOR_S < LAST_READ_S
    assert timeouts["QueryFunction"] > LAST_READ_S + UNPROCESSED_TIMEOUT_S + building_blocks.MAX_CALL_S
    assert timeouts["CommandFunction"] > RETRIED_FOR_S + building_blocks.MAX_CALL_S


# `sam local start-api` takes routes from the first resource of these types. From a function it would take the events of
# functions, which have no routes (aws-sam-cli 1.170, lib/providers/api_provider.py).
DECIDING: Final = ("AWS::Serverless::", "AWS::ApiGateway", "AWS::Lambda::Permission")
IGNORED: Final = "AWS::Serverless::LayerVersion"


def test_routes_are_found_since_the_api_stands_ahead_of_the_functions() -> None:
    resources = yaml_parse((PROJECT / "template.yaml").read_text(encoding="utf-8"))["Resources"]
    types = [resource["Type"] for resource in resources.values()]

    deciding = [kind for kind in types if kind.startswith(DECIDING) and kind != IGNORED]
    assert deciding[0] == "AWS::ApiGatewayV2::Api"


def test_containers_are_told_an_address_that_they_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {
        "WriterFunction": {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "QUEUE": "http://127.0.0.1:4566/0/q", "T": "t"}
    }
    desktop = {"AWS_ENDPOINT_URL": "http://host.docker.internal:4566", "QUEUE": "http://host.docker.internal:4566/0/q"}

    assert serve.for_containers(variables, "darwin") == {"WriterFunction": {**desktop, "T": "t"}}
    assert serve.for_containers(variables, "linux") == variables
    monkeypatch.setattr(emulator, "HOST", "172.17.0.1")
    bridged = {"WriterFunction": {"AWS_ENDPOINT_URL": "http://172.17.0.1:4566"}}
    assert serve.for_containers(bridged, "linux") == bridged


PACKAGE = FUNCTIONS.parent / "layers" / "standings" / "standings"


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    """A layer whose orjson was compiled for another runtime."""
    (tmp_path / "standings").symlink_to(PACKAGE)
    (tmp_path / "orjson.py").write_text("raise ImportError(\"No module named 'orjson.orjson'\")\n", encoding="utf-8")
    return tmp_path


def start(layer: Path, function: str) -> str:
    """Import a function over a layer, and return the last line of its error."""
    environment = os.environ | {"PYTHONPATH": str(layer), "PYTHONDONTWRITEBYTECODE": "1"}
    done = ended([sys.executable, "-c", "import app"], cwd=FUNCTIONS / function, env=environment)
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("function", ["writer", "projector", "query", "command", "maintenance"])
def test_a_layer_for_another_runtime_is_named_with_what_to_do(layer: Path, function: str) -> None:
    (layer / "built-for.txt").write_text("python3.10 riscv\n", encoding="utf-8")
    runtime, processor = running().split()

    assert start(layer, function) == (
        f"ImportError: the layer was built for python3.10 on riscv, but the function runs {runtime} on {processor}: "
        f"run `sam build --parameter-overrides PythonRuntime={runtime} Architecture={processor}`, then `sam deploy` "
        "with the same values"
    )


def test_a_layer_that_fits_and_a_run_from_source_go_on(layer: Path) -> None:
    assert start(layer, "writer") == "ImportError: No module named 'orjson.orjson'"
    (layer / "built-for.txt").write_text(f"{running()}\n", encoding="utf-8")
    assert start(layer, "writer") == "ImportError: No module named 'orjson.orjson'"


def test_the_runtime_and_processor_are_named_as_the_parameters_do() -> None:
    built = (PACKAGE.parent / "targets" / running().replace(" ", "-")).is_dir()
    assert built, f"no makefile for {running()}"
