"""`sam local invoke` of every function with every sample event, and `sam local start-api`.

The functions run in Lambda's own image, against the stack of `make serve`. The image is pulled unless
SAM_SKIP_PULL_IMAGE is set.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final

import pytest

from demo import feed, serve
from demo.embedded import emulator
from demo.embedded.stack import LOCAL, PROJECT, Deployment, deployed
from tests.support.aws.servers import free_port, stop

SAM: Final = LOCAL / "tools" / "sam" / "bin" / "sam"
PATIENCE_S: Final = 180.0
ARCHITECTURE: Final = "arm64" if platform.machine().lower() in {"arm64", "aarch64"} else "x86_64"
OVERRIDES: Final = ["--parameter-overrides", f"Architecture={ARCHITECTURE}"]
LOCAL_OPTIONS: Final = ["--env-vars", ".local/env.json", "--region", "us-east-1", *OVERRIDES]
EVENTS: Final = {
    "ProjectorFunction": ["scores-stream"],
    "WriterFunction": ["activity", "activity-refused"],
    "QueryFunction": ["read-page", "read-rank", "read-profile", "search-names"],
    "CommandFunction": ["post-events", "put-member", "delete-member", "put-profile", "delete-profile"],
    "MaintenanceFunction": ["audit", "list-dead-letters", "replay-parked", "rebuild", "erase"],
}


@pytest.fixture(scope="module")
def deployment() -> Iterator[Deployment]:
    if not SAM.exists():
        pytest.skip("sam is missing, `make setup` installs it")
    bridge = ["docker", "network", "inspect", "bridge", "-f", "{{json (index .IPAM.Config 0)}}"]
    try:
        found = subprocess.run(bridge, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("docker is not on the PATH")
    if found.returncode:
        pytest.skip(f"no Docker engine answers: {found.stderr.strip()}")
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
    for name in ("template.yaml", "samconfig.toml"):
        shutil.copy(PROJECT / name, found)
    for name in ("functions", "layers", "events"):
        shutil.copytree(PROJECT / name, found / name, ignore=shutil.ignore_patterns("__pycache__"))
    (found / ".local").mkdir()
    variables = serve.for_containers(deployment.environments())
    (found / ".local" / "env.json").write_text(json.dumps(variables), encoding="utf-8")
    sam(found, "build", *OVERRIDES)
    return found


def environment() -> dict[str, str]:
    tools = LOCAL / "tools" / "bootstrap" / "bin"
    return {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "SAM_CLI_TELEMETRY": "0"}


def sam(project: Path, *arguments: str) -> str:
    command = [str(SAM), *arguments]
    done = subprocess.run(command, cwd=project, env=environment(), text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_function_on_every_sample(project: Path, deployment: Deployment) -> None:
    assert sorted(f"{name}.json" for names in EVENTS.values() for name in names) == sorted(
        path.name for path in (project / "events").glob("*.json")
    )
    answers: dict[str, Any] = {}
    for function, events in EVENTS.items():
        for event in events:
            said = sam(project, "local", "invoke", function, "-e", f"events/{event}.json", *LOCAL_OPTIONS)
            answers[event] = json.loads(said.splitlines()[-1])
            assert "errorType" not in answers[event], (event, answers[event])
            feed.drain(deployment, lambda _: None)
            feed.settle(deployment)

    for event in ("scores-stream", "activity", "activity-refused"):
        assert answers[event] == {"batchItemFailures": []}
    page = json.loads(answers["read-page"]["body"])
    assert [(one["rank"], one["member"], one["score"]) for one in page["entries"]] == [(1, "用户", 12), (2, "u123", 11)]
    assert json.loads(answers["read-rank"]["body"])["rank"] == 2
    results = json.loads(answers["post-events"]["body"])["results"]
    assert [one["status"] for one in results] == ["queued", "queued", "refused"]
    assert json.loads(answers["put-member"]["body"])["hidden"]
    assert answers["delete-member"]["statusCode"] == 204
    # Reads come before writes: nobody has a profile yet.
    assert [answers[name]["statusCode"] for name in ("read-profile", "search-names")] == [404, 200]
    assert [answers[name]["statusCode"] for name in ("put-profile", "delete-profile")] == [200, 204]
    assert (answers["erase"]["done"], answers["erase"]["problems"]) == (True, [])
    assert (answers["audit"]["done"], answers["audit"]["drift"]) == (True, 0)
    assert len(answers["list-dead-letters"]["messages"]) == 2
    assert answers["replay-parked"]["placed"] == 0
    assert answers["rebuild"]["phase"] == "announced"


@pytest.fixture
def api(project: Path, tmp_path: Path) -> Iterator[str]:
    port = free_port()
    command = [str(SAM), "local", "start-api", "--port", str(port), *LOCAL_OPTIONS]
    with (tmp_path / "start-api.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=project, env=environment(), stdout=log, stderr=subprocess.STDOUT)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        stop(process)


def ask(api: str, path: str, method: str = "GET", body: Any = None) -> tuple[int, Any]:
    """Return an answer of the API, once it is up."""
    data = None if body is None else json.dumps(body).encode()
    headers: Mapping[str, str] = {"Content-Type": "application/json"} if data else {}
    request = urllib.request.Request(api + path, data, dict(headers), method=method)  # noqa: S310 - loopback
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            with opener.open(request, timeout=PATIENCE_S) as response:
                said = response.read()
                return response.status, json.loads(said) if said.startswith(b"{") else said.decode()
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)
        except (urllib.error.URLError, ConnectionError):
            assert time.monotonic() < deadline, "sam local start-api does not answer"
            time.sleep(0.1)


def test_the_api(api: str, deployment: Deployment) -> None:
    """Writes go to the command function, reads to the query function, as on AWS."""
    board = "/boards/demo-local"
    events = [{"id": f"local-{n}", "board": "demo-local", "member": n, "metrics": {"points": 3}} for n in ("a", "b")]
    status, answer = ask(api, "/events", "POST", events)
    assert (status, [one["status"] for one in answer["results"]]) == (202, ["queued", "queued"])
    feed.drain(deployment, lambda _: None)
    assert ask(api, f"{board}/member?id=a", "PUT", {"hidden": True})[0] == 200
    feed.settle(deployment)
    status, answer = ask(api, f"{board}/points/all?limit=5")
    assert (status, answer["entries"]) == (200, [{"rank": 1, "member": "b", "score": 3}])
    assert ask(api, f"{board}/points/all/ranks", "POST", {"members": ["b"]})[1]["entries"][0]["rank"] == 1
    assert ask(api, f"{board}/member?id=a", "DELETE")[0] == 204
    assert ask(api, f"{board}/member?id=a")[1]["type"] == "urn:standings:no-such-member"
    assert ask(api, "/")[1].startswith("<!doctype html>")
