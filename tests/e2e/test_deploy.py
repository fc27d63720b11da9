"""`sam deploy` creates the stack and updates it in place, and `sam delete` leaves nothing of a trial.

An update changes a parameter and `boards.toml`. Events that were counted before count once after it.
"""

import json
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from demo import feed
from demo.activity import generate
from demo.embedded import emulator, stack
from demo.embedded.processes import run
from demo.embedded.stack import LOCAL, PROJECT, Deployment
from tests.support.aws.embedded_tools import skip_without_tools

pytestmark = [pytest.mark.e2e, pytest.mark.thorough]

NAME: Final = "standings"
BOARD: Final = "demo-before"
FAMILY: Final = '[boards."demo-*"]'
PATIENCE_S: Final = 240


@dataclass
class Trial:
    """A copy of the project and an embedded AWS to deploy it to."""

    project: Path
    endpoint: str
    log: Path

    def client(self, service: str) -> Any:
        return stack._client(service, self.endpoint)

    def sam(self, name: str, *arguments: str | Path) -> str:
        """Run sam as a person would, and return its output. Raises ProcessError if it fails."""
        log = self.log.parent / f"{name}.log"
        run(
            [stack._sam(), *arguments],
            env=stack._environment(self.log.parent) | {"AWS_ENDPOINT_URL": self.endpoint},
            cwd=self.project,
            log=log,
            timeout_s=PATIENCE_S,
        )
        return log.read_text(encoding="utf-8")

    def build(self) -> Path:
        """Build the copy, and return the built template."""
        self.sam("build", "build", "--parameter-overrides", *stack.target())
        return self.project / ".aws-sam" / "build" / "template.yaml"

    def deploy(self, template: Path, *parameters: str) -> Deployment:
        """Create the stack, or update it."""
        options: list[str | Path] = ["--template-file", template, "--stack-name", NAME, "--region", "us-east-1"]
        options += [
            "--config-file",
            self.project / "samconfig.toml",
            "--no-confirm-changeset",
            "--parameter-overrides",
            *stack.target(),
        ]
        fixed = [f"EndpointUrl={self.endpoint}", "OpenReads=true", "OpenWrites=true"]
        fixed += ["WriterMaximumConcurrency=0", "LogLevel=DEBUG"]
        self.sam("deploy", "deploy", *options, *fixed, *parameters)
        return stack._describe(self.endpoint, self.log, self._define)

    def _define(self, _: str) -> None:
        raise NotImplementedError

    def resources(self) -> dict[str, str]:
        """Return the physical ids by logical id."""
        pages = self.client("cloudformation").describe_stack_resources(StackName=NAME)["StackResources"]
        return {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in pages}


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    skip_without_tools()
    directory = tmp_path_factory.mktemp("deploy")
    project = directory / "project"
    for name in ("functions", "layers"):
        shutil.copytree(PROJECT / name, project / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("template.yaml", "samconfig.toml"):
        shutil.copy(PROJECT / name, project)
    with emulator.running(LOCAL / "tools", directory) as (endpoint, log):
        yield Trial(project, endpoint, log)


def get(deployment: Deployment, path: str) -> tuple[int, dict[str, Any]]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(deployment.api_url + path, timeout=30) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def lists(deployment: Deployment) -> dict[str, Any]:
    """Return every ranking of the board, without the time of its last change."""
    found = {}
    for window in ("all", "day", "week", "month", "year", "last-7-days"):
        status, page = get(deployment, f"/boards/{BOARD}/points/{window}?limit=1000")
        assert status == 200, page
        found[window] = {name: page[name] for name in ("period", "total", "entries")}
    return found


def event(board: str, number: int, metrics: dict[str, int]) -> str:
    at = datetime.now(UTC).isoformat()
    return json.dumps({"id": f"{board}-{number}", "board": board, "member": "m", "at": at, "metrics": metrics})


def post(deployment: Deployment, messages: list[str]) -> None:
    feed.post(deployment, messages, lambda *_: None)
    feed.drain(deployment, lambda _: None)
    feed.settle(deployment)


def test_an_update_loses_nothing_and_a_deletion_leaves_nothing(trial: Trial) -> None:
    before = trial.deploy(stack._build(trial.log.parent))
    kept = trial.resources()
    activity = generate(5, BOARD, datetime.now(UTC), 40)
    refused = event("demo-new", 0, {"best": 3})
    post(before, [*activity.messages, refused])
    ranks = lists(before)
    assert ranks["all"]["total"] == len(activity.members)
    assert any("best" in letter for letter in feed.refused(before))

    boards = trial.project / "layers" / "standings" / "boards.toml"
    text = boards.read_text(encoding="utf-8")
    assert text.count(FAMILY) == 1
    best = 'metrics.best = { aggregate = "max", windows = ["all"] }'
    boards.write_text(text.replace(FAMILY, f"{FAMILY}\n{best}"), encoding="utf-8")
    after = trial.deploy(trial.build(), "FunctionMemory=512")

    # The update is in place: tables and queues are the same.
    now = trial.resources()
    tables = ("ScoresTable", "ReceiptsTable", "RankingsTable", "ProfilesTable")
    names = (*tables, "ActivityQueue", "ActivityDeadLetterQueue", "Api")
    assert {name: now[name] for name in names} == {name: kept[name] for name in names}
    assert (after.queue_url, after.api_url) == (before.queue_url, before.api_url)
    assert lists(after) == ranks
    functions = trial.client("lambda")
    writer = functions.get_function_configuration(FunctionName=after.outputs["WriterFunctionName"])
    assert writer["MemorySize"] == 512

    # All earlier events again, and one that only the changed board accepts.
    post(after, [*activity.messages, event("demo-new", 1, {"best": 7})])
    assert lists(after) == ranks
    status, page = get(after, "/boards/demo-new/best/all")
    assert (status, page["entries"]) == (200, [{"rank": 1, "member": "m", "score": 7}])
    # On a board with events, the new ranking answers that it has to be built.
    assert get(after, f"/boards/{BOARD}/best/all")[1]["type"] == "urn:standings:not-built"

    trial.client("s3").put_object(Bucket=after.outputs["FailureBucketName"], Key="parked/x.json", Body=b"{}")
    trial.sam("delete", "delete", "--stack-name", NAME, "--region", "us-east-1", "--no-prompts")
    assert left(trial) == {}


def left(trial: Trial) -> dict[str, list[str]]:
    """Return what is left, by kind, without sam's own bucket for uploads."""
    functions, sqs = trial.client("lambda"), trial.client("sqs")
    found = {
        "stacks": [one["StackName"] for one in trial.client("cloudformation").describe_stacks()["Stacks"]],
        "tables": trial.client("dynamodb").list_tables()["TableNames"],
        "queues": sqs.list_queues().get("QueueUrls", []),
        "buckets": [one["Name"] for one in trial.client("s3").list_buckets()["Buckets"]],
        "functions": [one["FunctionName"] for one in functions.list_functions()["Functions"]],
        "layers": [one["LayerName"] for one in functions.list_layers()["Layers"]],
        "mappings": [one["UUID"] for one in functions.list_event_source_mappings()["EventSourceMappings"]],
        "log groups": [one["logGroupName"] for one in trial.client("logs").describe_log_groups()["logGroups"]],
        "APIs": [one["ApiId"] for one in trial.client("apigatewayv2").get_apis()["Items"]],
        "alarms": [one["AlarmName"] for one in trial.client("cloudwatch").describe_alarms()["MetricAlarms"]],
        "roles": [one["RoleName"] for one in trial.client("iam").list_roles()["Roles"]],
    }
    return {kind: ours for kind, names in found.items() if (ours := [name for name in names if "managed" not in name])}
