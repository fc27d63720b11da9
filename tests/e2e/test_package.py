"""What `make package` writes is deployed and updated by the calls of plain CloudFormation, and counts events."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest

from demo import feed
from demo.embedded import emulator, stack
from demo.embedded.processes import run
from demo.embedded.stack import LOCAL, Deployment
from tests.support.aws.deployed_api import count, event, scores_of
from tests.support.aws.embedded_tools import copied, skip_without_tools

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("package")]

BUCKET: Final = "my-artefacts"
FAMILY: Final = '\n[boards."club-*"]\nmetrics.goals = { aggregate = "sum", windows = ["all"] }\n'


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
        chosen = dict(pair.split("=") for pair in stack.target()) | {
            "EndpointUrl": self.endpoint,
            "OpenReads": "true",
            "WriterMaximumConcurrency": "0",
            "LogLevel": "DEBUG",
        }
        cloudformation = self.client("cloudformation")
        getattr(cloudformation, f"{operation}_stack")(
            StackName="standings",
            TemplateURL=address,
            Capabilities=["CAPABILITY_IAM"],
            Parameters=[{"ParameterKey": name, "ParameterValue": value} for name, value in chosen.items()],
        )
        cloudformation.get_waiter(f"stack_{operation}_complete").wait(
            StackName="standings", WaiterConfig={"Delay": 1, "MaxAttempts": 120}
        )
        return stack._describe(self.endpoint, self.log, lambda _: None)


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    skip_without_tools()
    folder = copied(tmp_path / "standings")
    with emulator.running(LOCAL / "tools", tmp_path) as (endpoint, log):
        door = Door(folder, endpoint, log)
        door.client("s3").create_bucket(Bucket=BUCKET)
        yield door


def test_plain_cloudformation_deploys_it_and_boards_come_with_the_next_package(door: Door) -> None:
    deployment = door.call("create", door.package())
    goal = event("club-a", "m", metrics={"goals": 2})
    count(deployment, [event("demo-a", "m", 3), goal])

    assert scores_of(deployment, "demo-a") == {"m": 3}
    assert any("goals" in letter for letter in feed.refused(deployment))

    boards = door.folder / "layers" / "standings" / "boards.toml"
    boards.write_text(boards.read_text(encoding="utf-8") + FAMILY, encoding="utf-8")
    queue = deployment.queue_url
    deployment = door.call("update", door.package())
    count(deployment, [event("demo-a", "m", 4), event("club-a", "m", metrics={"goals": 5})])

    assert deployment.queue_url == queue
    assert scores_of(deployment, "demo-a") == {"m": 7}
    assert scores_of(deployment, "club-a", "goals") == {"m": 5}
