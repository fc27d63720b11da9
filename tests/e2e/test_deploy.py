"""`sam deploy` creates the stack and updates it in place, and `sam delete` leaves nothing of a trial.

An update changes a parameter and `boards.toml`. Events that were counted before count once after it. What `make
package` writes is deployed and updated by the calls of plain CloudFormation.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest

from demo import feed
from demo.activity import generate
from demo.embedded import emulator, stack
from demo.embedded.processes import run
from demo.embedded.stack import LOCAL, Deployment, deployed
from tests.support.aws.deployed_api import answer_of, count, event, scores_of
from tests.support.aws.embedded_tools import copied, copy_project, skip_without_tools

pytestmark = [pytest.mark.e2e, pytest.mark.thorough]

BOARD: Final = "demo-before"
FAMILY: Final = '[boards."demo-*"]'
BEST: Final = 'metrics.best = { aggregate = "max", windows = ["all"] }'
TABLES: Final = ["ScoresTable", "ReceiptsTable", "RankingsTable", "ProfilesTable"]
KEPT: Final = [*TABLES, "ActivityQueue", "ActivityDeadLetterQueue", "Api"]
NAMED: Final = ["--stack-name", "standings", "--region", "us-east-1"]


def sam(deployment: Deployment, project: Path, *arguments: str | Path) -> None:
    """Run sam in a copy of the project, as a person would. Raises ProcessError if it fails."""
    directory = deployment.log.parent
    environment = stack._environment(directory) | {"AWS_ENDPOINT_URL": deployment.endpoint}
    run([stack._sam(), *arguments], env=environment, cwd=project, log=directory / "sam.log", timeout_s=240)


def resources(deployment: Deployment) -> dict[str, str]:
    """The physical ids of what an update keeps."""
    found = deployment.client("cloudformation").describe_stack_resources(StackName="standings")["StackResources"]
    return {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in found if one["LogicalResourceId"] in KEPT}


def lists(deployment: Deployment) -> dict[str, Any]:
    """Every ranking of the board, without the time of its last change."""
    found = {}
    for window in ("all", "day", "week", "month", "year", "last-7-days"):
        status, page = answer_of(deployment, "GET", f"/boards/{BOARD}/points/{window}?limit=1000")
        assert status == 200, page
        found[window] = {name: page[name] for name in ("period", "total", "entries")}
    return found


def left(deployment: Deployment) -> dict[str, list[str]]:
    """What is left, by kind, without sam's own bucket for uploads."""
    functions, sqs = deployment.client("lambda"), deployment.client("sqs")
    found = {
        "stacks": [one["StackName"] for one in deployment.client("cloudformation").describe_stacks()["Stacks"]],
        "tables": deployment.client("dynamodb").list_tables()["TableNames"],
        "queues": sqs.list_queues().get("QueueUrls", []),
        "buckets": [
            one["Name"]
            for one in deployment.client("s3").list_buckets()["Buckets"]
            if one["Name"] != stack._BUCKET  # the embedded AWS itself has it, for builds
        ],
        "functions": [one["FunctionName"] for one in functions.list_functions()["Functions"]],
        "layers": [one["LayerName"] for one in functions.list_layers()["Layers"]],
        "mappings": [one["UUID"] for one in functions.list_event_source_mappings()["EventSourceMappings"]],
        "log groups": [one["logGroupName"] for one in deployment.client("logs").describe_log_groups()["logGroups"]],
        "APIs": [one["ApiId"] for one in deployment.client("apigatewayv2").get_apis()["Items"]],
        "alarms": [one["AlarmName"] for one in deployment.client("cloudwatch").describe_alarms()["MetricAlarms"]],
        "roles": [one["RoleName"] for one in deployment.client("iam").list_roles()["Roles"]],
    }
    return {kind: ours for kind, names in found.items() if (ours := [name for name in names if "managed" not in name])}


def test_an_update_loses_nothing_and_a_deletion_leaves_nothing(tmp_path: Path) -> None:
    boards = copy_project(tmp_path) / "layers" / "standings" / "boards.toml"
    text = boards.read_text(encoding="utf-8")
    assert text.count(FAMILY) == 1
    boards.write_text(text.replace(FAMILY, f"{FAMILY}\n{BEST}"), encoding="utf-8")

    with deployed(print) as deployment:
        kept = resources(deployment)
        activity = generate(5, BOARD, datetime.now(UTC), 40)
        count(deployment, [*activity.messages, event("demo-new", "m", metrics={"best": 3})])
        ranks = lists(deployment)
        assert ranks["all"]["total"] == len(activity.members)
        assert any("best" in letter for letter in feed.refused(deployment))

        parameters = [f"EndpointUrl={deployment.endpoint}", "OpenReads=true", "OpenWrites=true", "FunctionMemory=512"]
        parameters += ["WriterMaximumConcurrency=0", "LogLevel=DEBUG", *stack.target()]
        # As `make trial.yaml` writes it: tables and buckets go with the stack.
        template = (tmp_path / "template.yaml").read_text(encoding="utf-8").replace("RetainExceptOnCreate", "Delete")
        (tmp_path / "trial.yaml").write_text(template, encoding="utf-8")
        sam(deployment, tmp_path, "build", "--template", "trial.yaml", "--parameter-overrides", *stack.target())
        sam(deployment, tmp_path, "deploy", *NAMED, "--no-confirm-changeset", "--parameter-overrides", *parameters)

        # The update is in place: tables, queues and the API are the same.
        assert len(kept) == len(KEPT)
        assert resources(deployment) == kept
        assert lists(deployment) == ranks
        writer = deployment.outputs["WriterFunctionName"]
        assert deployment.client("lambda").get_function_configuration(FunctionName=writer)["MemorySize"] == 512

        # All earlier events again, and one that only the changed board accepts.
        count(deployment, [*activity.messages, event("demo-new", "m", metrics={"best": 7})])
        assert lists(deployment) == ranks
        assert scores_of(deployment, "demo-new", "best") == {"m": 7}
        # On a board with events, the new ranking answers that it has to be built.
        assert answer_of(deployment, "GET", f"/boards/{BOARD}/best/all")[1]["type"] == "urn:standings:not-built"

        parked = {"Bucket": deployment.outputs["FailureBucketName"], "Key": "parked/x.json", "Body": b"{}"}
        deployment.client("s3").put_object(**parked)
        sam(deployment, tmp_path, "delete", *NAMED, "--no-prompts")
        assert left(deployment) == {}


BUCKET: Final = "my-artefacts"
CLUBS: Final = '\n[boards."club-*"]\nmetrics.goals = { aggregate = "sum", windows = ["all"] }\n'


@dataclass(frozen=True)
class Door:
    """A copy of the project beside an embedded AWS, as somebody has it who packages once and deploys without SAM."""

    folder: Path
    endpoint: str
    log: Path

    def client(self, service: str) -> Any:
        return stack._client(service, self.endpoint)

    def package(self) -> str:
        """Run `make package`, put the template into the bucket as each tool does, and return its address."""
        target = f"SAM_ARGS=--parameter-overrides {' '.join(stack.target())}"
        environment = stack._environment(self.log.parent) | {"AWS_ENDPOINT_URL": self.endpoint}
        environment["AWS_DEFAULT_REGION"] = "us-east-1"
        log = self.log.parent / "make-package.log"
        run(["make", "package", f"BUCKET={BUCKET}", target], env=environment, cwd=self.folder, log=log, timeout_s=300)
        key = f"standings/{uuid4().hex}.json"
        body = (self.folder / "dist" / "template.json").read_bytes()
        self.client("s3").put_object(Bucket=BUCKET, Key=key, Body=body)
        return f"{self.endpoint}/{BUCKET}/{key}"

    def call(self, operation: str, address: str) -> Deployment:
        """Create or update the stack, and wait until that is over."""
        chosen = dict(pair.split("=") for pair in stack.target()) | {"EndpointUrl": self.endpoint, "OpenReads": "true"}
        chosen |= {"WriterMaximumConcurrency": "0", "LogLevel": "DEBUG"}
        cloudformation = self.client("cloudformation")
        getattr(cloudformation, f"{operation}_stack")(
            StackName="standings",
            TemplateURL=address,
            Capabilities=["CAPABILITY_IAM"],
            Parameters=[{"ParameterKey": name, "ParameterValue": value} for name, value in chosen.items()],
        )
        patience = {"Delay": 1, "MaxAttempts": 120}
        cloudformation.get_waiter(f"stack_{operation}_complete").wait(StackName="standings", WaiterConfig=patience)
        boards = self.folder / "layers" / "standings" / "boards.toml"
        return stack._describe(self.endpoint, self.log, boards, lambda _: None)


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    skip_without_tools()
    folder = copied(tmp_path / "standings")
    with emulator.running(LOCAL / "tools", tmp_path) as (endpoint, log):
        door = Door(folder, endpoint, log)
        door.client("s3").create_bucket(Bucket=BUCKET)
        yield door


@pytest.mark.xdist_group("package")
def test_plain_cloudformation_deploys_it_and_boards_come_with_the_next_package(door: Door) -> None:
    deployment = door.call("create", door.package())
    goal = event("club-a", "m", metrics={"goals": 2})
    count(deployment, [event("demo-a", "m", 3), goal])

    assert scores_of(deployment, "demo-a") == {"m": 3}
    assert any("goals" in letter for letter in feed.refused(deployment))

    boards = door.folder / "layers" / "standings" / "boards.toml"
    boards.write_text(boards.read_text(encoding="utf-8") + CLUBS, encoding="utf-8")
    queue = deployment.queue_url
    deployment = door.call("update", door.package())
    count(deployment, [event("demo-a", "m", 4), event("club-a", "m", metrics={"goals": 5})])

    assert deployment.queue_url == queue
    assert scores_of(deployment, "demo-a") == {"m": 7}
    assert scores_of(deployment, "club-a", "goals") == {"m": 5}
