"""`sam local invoke` of every function with every sample event, and `sam local start-api`.

The functions run in Lambda's own image, against the stack of `make serve`. The image is pulled unless
SAM_SKIP_PULL_IMAGE is set.
"""

import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final

import pytest

from demo import feed, serve
from demo.embedded import emulator
from demo.embedded.stack import LOCAL, PROJECT, Deployment, deployed
from tests.e2e.test_lambda_runtime import invoke_all
from tests.support.aws.deployed_api import answer_of, count, event
from tests.support.aws.embedded_tools import copy_project, skip_without_tools
from tests.support.aws.servers import free_port, stop
from tests.support.programs import output

SAM: Final = LOCAL / "tools" / "sam" / "bin" / "sam"
PATIENCE_S: Final = 180.0
ARCHITECTURE: Final = "arm64" if platform.machine().lower() in {"arm64", "aarch64"} else "x86_64"
OVERRIDES: Final = ["--parameter-overrides", f"Architecture={ARCHITECTURE}"]
LOCAL_OPTIONS: Final = ["--env-vars", ".local/env.json", "--region", "us-east-1", *OVERRIDES]


@pytest.fixture(scope="module")
def deployment() -> Iterator[Deployment]:
    skip_without_tools()
    bridge = ["docker", "network", "inspect", "bridge", "-f", "{{json (index .IPAM.Config 0)}}"]
    try:
        found = subprocess.run(bridge, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("docker is missing: install Docker")
    if found.returncode:
        pytest.skip(f"no Docker engine answers: start it ({found.stderr.strip()})")
    with pytest.MonkeyPatch.context() as patch:
        if sys.platform == "linux":
            # If an engine does not name the bridge's address, it is the first of its network.
            network = json.loads(found.stdout)
            first = str(ip_network(network["Subnet"])[1])
            patch.setattr(emulator, "HOST", network.get("Gateway") or first)
        with deployed(print) as stack:
            yield stack


@pytest.fixture(scope="module")
def project(deployment: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the project, with the environment file that `make serve` writes for its functions."""
    found = tmp_path_factory.mktemp("project")
    shutil.copytree(PROJECT / "events", copy_project(found) / "events")
    (found / ".local").mkdir()
    variables = serve.for_containers(deployment.environments())
    (found / ".local" / "env.json").write_text(json.dumps(variables), encoding="utf-8")
    sam(found, "build", *OVERRIDES)
    return found


def environment() -> dict[str, str]:
    tools = LOCAL / "tools" / "bootstrap" / "bin"
    return {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "SAM_CLI_TELEMETRY": "0"}


def sam(project: Path, *arguments: str) -> str:
    return output([SAM, *arguments], cwd=project, env=environment(), timeout=None)


def test_every_function_on_every_sample(project: Path, deployment: Deployment) -> None:
    def invoke(function: str, event: str) -> Any:
        said = sam(project, "local", "invoke", function, "-e", f"events/{event}.json", *LOCAL_OPTIONS)
        return json.loads(said.splitlines()[-1])

    invoke_all(lambda: count(deployment), invoke)


@pytest.fixture
def api(project: Path, deployment: Deployment, tmp_path: Path) -> Iterator[Deployment]:
    """The deployment with the API of `sam local start-api`, once it is up."""
    port = free_port()
    command = [str(SAM), "local", "start-api", "--port", str(port), *LOCAL_OPTIONS]
    with (tmp_path / "start-api.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=project, env=environment(), stdout=log, stderr=subprocess.STDOUT)
    until = time.monotonic() + PATIENCE_S
    try:
        while socket.socket().connect_ex(("127.0.0.1", port)):
            assert time.monotonic() < until, "sam local start-api does not answer"
            time.sleep(0.1)
        yield replace(deployment, api_url=f"http://127.0.0.1:{port}")
    finally:
        stop(process)


def test_the_api(api: Deployment) -> None:
    """Writes go to the command function, reads to the query function, as on AWS."""
    board = "/boards/demo-local"
    events = [json.loads(event("demo-local", member, 3)) for member in ("a", "b")]
    status, answer = answer_of(api, "POST", "/events", events)
    assert (status, [one["status"] for one in answer["results"]]) == (202, ["queued", "queued"])
    feed.drain(api, lambda _: None)
    assert answer_of(api, "PUT", f"{board}/member?id=a", {"hidden": True})[0] == 200
    assert answer_of(api, "DELETE", f"{board}/member?id=a")[0] == 204
    assert answer_of(api, "GET", f"{board}/member?id=a")[1]["type"] == "urn:standings:no-such-member"
    with urllib.request.urlopen(f"{api.api_url}/") as page:  # noqa: S310 - loopback
        assert page.read().startswith(b"<!doctype html>")
