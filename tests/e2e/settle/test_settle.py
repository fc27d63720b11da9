"""A season is settled on the deployed stack, and a function behind a rule grants its prizes, each once.

The season has ended, but the first `boards.toml` still takes its events. With the second one, whose `late` is minutes,
the season is final.
"""

import gzip
import json
import os
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final

import pytest

from demo.embedded.stack import PROJECT, Deployment, deployed
from tests.support.aws.deployed_api import answer_of
from tests.support.aws.embedded_tools import skip_without_tools
from tests.support.aws.heard_events import HeardEvents

pytestmark = [pytest.mark.e2e, pytest.mark.thorough]

BOARD: Final = "league-1"
MEMBERS: Final = 300
PATIENCE_S: Final = 90
WEST: Final = datetime.now(UTC).hour - 12
"""Hours to the west of Greenwich where it is about noon: the day before ended there long ago."""
TODAY: Final = (datetime.now(UTC) - timedelta(hours=WEST)).date()
SEASON: Final = "first-2026"
EXAMPLE: Final = PROJECT / "examples" / "grant_prizes"


def boards(late: str) -> str:
    return f"""
[boards."league-*"]
timezone = "Etc/GMT{WEST:+}"
late = "{late}"
keep = "30 days"
settle = ["season"]
metrics.points = {{ aggregate = "sum", windows = ["all", "season"] }}
prizes.season = [
  {{ ranks = "1", name = "gold" }},
  {{ ranks = "2-3", name = "silver" }},
  {{ percent = 10, name = "top" }},
]
[[boards."league-*".seasons]]
name = "{SEASON}"
starts = "{TODAY - timedelta(days=9)}"
ends = "{TODAY}"
"""


@pytest.fixture(scope="module")
def deployment() -> Iterator[Deployment]:
    skip_without_tools()
    with deployed(print, boards=boards("1 day")) as stack:
        yield stack


def until(what: Callable[[], Any]) -> Any:
    """The first answer that is true."""
    end = time.monotonic() + PATIENCE_S
    while not (answer := what()):
        assert time.monotonic() < end, answer
        time.sleep(0.5)
    return answer


def task(deployment: Deployment, event: dict[str, Any]) -> dict[str, Any]:
    answer = deployment.client("lambda").invoke(
        FunctionName=deployment.outputs["MaintenanceFunctionName"], Payload=json.dumps(event).encode()
    )
    content: dict[str, Any] = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, content
    return content


def grant_prizes(deployment: Deployment) -> str:
    """Deploy the example; the name of its table."""
    sam = PROJECT / ".local" / "tools" / "sam" / "bin" / "sam"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment = kept | {
        "AWS_ENDPOINT_URL": deployment.endpoint,
        "AWS_ACCESS_KEY_ID": "embedded",
        "AWS_SECRET_ACCESS_KEY": "embedded",
        "NO_PROXY": "127.0.0.1",
        "SAM_CLI_TELEMETRY": "0",
    }
    functions = deployment.client("lambda")
    runtime = functions.get_function_configuration(FunctionName=deployment.outputs["WriterFunctionName"])["Runtime"]
    command = [str(sam), "deploy", "--template-file", "template.yaml", "--stack-name", "grants"]
    command += ["--region", "us-east-1", "--capabilities", "CAPABILITY_IAM", "--resolve-s3", "--no-progressbar"]
    command += ["--no-confirm-changeset", "--parameter-overrides", f"PythonRuntime={runtime}"]
    subprocess.run(command, env=environment, cwd=EXAMPLE, check=True, timeout=120)
    (stack,) = deployment.client("cloudformation").describe_stacks(StackName="grants")["Stacks"]
    return str(stack["Outputs"][0]["OutputValue"])


def play(deployment: Deployment, day: str) -> dict[str, int]:
    rng = random.Random(1)
    scores = {f"m{number:03}": rng.randint(-5, 60) for number in range(MEMBERS)}
    at = f"{day}T12:00:00{-WEST:+03}:00"
    for number, (member, points) in enumerate(scores.items()):
        body = {"id": f"e{number}", "board": BOARD, "member": member, "at": at, "metrics": {"points": points}}
        deployment.sqs().send_message(QueueUrl=deployment.queue_url, MessageBody=json.dumps(body))
    return scores


def listed(deployment: Deployment, bucket: str, prefix: str) -> list[tuple[int, str, int]]:
    s3 = deployment.client("s3")
    keys = [one["Key"] for one in s3.list_objects_v2(Bucket=bucket, Prefix=prefix)["Contents"]]
    raw = b"".join(
        gzip.decompress(s3.get_object(Bucket=bucket, Key=key)["Body"].read())
        for key in sorted(keys)
        if key.endswith(".jsonl.gz")
    )
    summary = json.load(s3.get_object(Bucket=bucket, Key=f"{prefix}summary.json")["Body"])
    assert summary["digest"] == sha256(raw).hexdigest()
    return [(one["rank"], one["member"], one["score"]) for one in map(json.loads, raw.splitlines())]


def granted(deployment: Deployment, table: str) -> tuple[Counter[tuple[str, str]], set[str]]:
    """What members own, and the ids of the receipts."""
    owned: Counter[tuple[str, str]] = Counter()
    receipts = set()
    for page in deployment.client("dynamodb").get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
        for item in page["Items"]:
            kind, _, name = item["pk"]["S"].partition("#")
            if kind == "receipt":
                receipts.add(name)
            else:
                owned.update({(name, prize): int(item[prize]["N"]) for prize in item.keys() - {"pk"}})
    return owned, receipts


def test_a_season_is_settled_and_its_prizes_are_granted_once(deployment: Deployment) -> None:
    table = grant_prizes(deployment)
    prizes = HeardEvents(deployment, "prizes", "Prize Won")
    scores = play(deployment, str(TODAY - timedelta(days=1)))
    path = f"/boards/{BOARD}/points/season?period={SEASON}"
    until(lambda: answer_of(deployment, "GET", path)[1].get("total") == MEMBERS)
    settle = {"settle": {"board": BOARD, "window": "season", "period": SEASON}}
    (refused,) = task(deployment, settle)["rankings"]
    assert refused["why"].startswith("the period is final at ")
    assert answer_of(deployment, "GET", path)[1]["state"] == "closing"

    deployment.define(boards("2 minutes"))
    assert until(lambda: answer_of(deployment, "GET", path)[1]["state"] == "final")
    (told,) = task(deployment, settle)["rankings"]
    assert (told["settled"], told["why"]) == (True, None)
    assert task(deployment, settle)["rankings"][0]["summary"] == told["summary"]
    assert task(deployment, {"settlements": {"next": {}}})["rankings"] == []
    again = {"settle": {**settle["settle"], "again": True}}
    assert task(deployment, again)["rankings"][0]["summary"] == told["summary"]

    ordered = sorted(scores.items(), key=lambda one: (-one[1], one[0]))
    ranks = {points: 1 + sum(other > points for other in scores.values()) for points in scores.values()}
    expected = [(ranks[points], member, points) for member, points in ordered]
    assert listed(deployment, told["bucket"], told["prefix"]) == expected
    limits = {"gold": (1, 1), "silver": (2, 3), "top": (1, -(-MEMBERS // 10))}
    winners = Counter(
        (member, prize) for rank, member, _ in expected for prize, (low, high) in limits.items() if low <= rank <= high
    )
    until(lambda: sum(granted(deployment, table)[0].values()) >= sum(winners.values()))
    owned, receipts = granted(deployment, table)
    assert owned == winners
    ids = _won(prizes, len(winners))
    assert ids == Counter(receipts)
    assert len(ids) == len(winners)
    deliver_again(deployment, table, next(iter(receipts)))
    assert granted(deployment, table)[0] == winners


def deliver_again(deployment: Deployment, table: str, identity: str) -> None:
    """Deliver an event of a prize once more."""
    receipt = deployment.client("dynamodb").get_item(TableName=table, Key={"pk": {"S": f"receipt#{identity}"}})["Item"]
    detail = {"id": identity, "stack": "standings", "member": receipt["member"]["S"], "prize": receipt["prize"]["S"]}
    (name,) = [
        one["FunctionName"]
        for one in deployment.client("lambda").list_functions()["Functions"]
        if "Grant" in one["FunctionName"]
    ]
    answer = deployment.client("lambda").invoke(FunctionName=name, Payload=json.dumps({"detail": detail}).encode())
    assert "FunctionError" not in answer


def _won(prizes: HeardEvents, least: int) -> Counter[str]:
    """The ids of the prizes that the bus told of, with how often."""
    ids: Counter[str] = Counter()
    idle = 0
    while idle < 3 or sum(ids.values()) < least:
        heard = [event["id"] for event in prizes.next()]
        idle = 0 if heard else idle + 1
        assert idle < PATIENCE_S, ids
        ids.update(heard)
    return ids
