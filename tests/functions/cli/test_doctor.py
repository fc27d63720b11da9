"""`standings doctor`: each check of a stack fails where it should and says what to do; what `--record` saves; and the
exercise, over the real functions: it proves what is right, and finds what is wrong."""

import io
import json
import tomllib
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, Final

import pytest
from botocore.exceptions import ClientError

from standings.client.errors import NoAnswerError
from standings_cli.commands import doctor
from standings_cli.commands.doctor import Recording, without_account
from standings_cli.doctor import exercise
from standings_cli.doctor.checks import FUNCTIONS, Deployed, Finding, Verdict
from standings_cli.doctor.exercise import Tools
from standings_cli.stack.maintenance import Maintenance
from standings_cli.terminal import DIFFERS, OK
from tests.support.aws.stack import Stack, apply, event, project
from tests.support.builders.checks import rows
from tests.support.cli.command_line import Run, connected

NOW: Final = datetime(2026, 11, 21, 12, 15, tzinfo=UTC)
PROJECT: Final = Path(__file__).parents[3]
HEALTHY: Final = Path(__file__).with_name("healthy_stack.toml")
GONE: Final = "gone"


class Aws:
    """AWS about a stack: `says` is what stands in `healthy_stack.toml`, until a test changes it."""

    stack = "standings"

    def __init__(self) -> None:
        self.says: Any = tomllib.loads(HEALTHY.read_text(encoding="utf-8"))
        self.asked: set[str] = set()
        self.maintenance = Maintenance(self.client("lambda"), "maintenance")

    @property
    def is_local(self) -> bool:
        return bool(self.says["is_local"])

    function_url = "https://ab12.lambda-url.eu-central-1.on.aws/"

    def unsigned(self, method: str, _: str, url: str | None = None) -> int:
        status = self.says["statuses"][method if url is None else {self.function_url: "URL"}[url]]
        if isinstance(status, Exception):
            raise status
        return int(status)

    def signed_read(self, _: str) -> int:
        return int(self.says["statuses"]["SIGNED"])

    def client(self, service: str) -> Any:
        """All services in one."""
        says = self.says
        resources = [{"LogicalResourceId": name, "PhysicalResourceId": own} for name, own in says["resources"].items()]
        alarms = [{"AlarmName": name, **one} for name, one in says["alarms"].items()]
        given = [{"ParameterKey": name, "ParameterValue": value} for name, value in says["parameters"].items()]
        answers: dict[str, Callable[[str], Any]] = {
            "list_stack_resources": lambda _: [{"StackResourceSummaries": [one]} for one in resources],
            "describe_alarms": lambda _: [{"MetricAlarms": [one]} for one in alarms],
            "describe_stacks": lambda _: {"Stacks": [{"Parameters": given}]},
            "get_queue_attributes": lambda queue: {
                "Attributes": {"QueueArn": f"arn:{queue}", **says["waiting" if queue == "activity" else "queued"]}
            },
            "get_function_recursion_config": lambda _: {"RecursiveLoop": says["recursion"]},
            "describe_table": lambda table: {"Table": says["tables"][table]},
            "describe_time_to_live": lambda table: {"TimeToLiveDescription": says["expiry"][table]},
            "describe_continuous_backups": lambda table: {
                "ContinuousBackupsDescription": {
                    "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": says["backups"][table]}
                }
            },
            "list_event_source_mappings": lambda function: {
                "EventSourceMappings": [says["mappings"][function]] if function in says["mappings"] else []
            },
            "get_function_configuration": lambda function: says["functions"][function],
            "list_function_url_configs": lambda function: {"FunctionUrlConfigs": {"query": says["urls"]}[function]},
            "get_policy": lambda function: {"Policy": json.dumps({"Statement": {"query": says["policy"]}[function]})},
            "get_layer_version_by_arn": lambda layer: {"layer": says["layer"]}[layer],
            "get_account_settings": lambda _: {"AccountLimit": {"UnreservedConcurrentExecutions": says["concurrency"]}},
        }

        def call(operation: str, **request: Any) -> Any:
            self.asked.add(f"{service}:{operation}")
            if operation in says.get("denied", ()):
                _refuse("AccessDenied")
            return answers[operation](next(iter(request.values()), ""))

        client = SimpleNamespace(**{operation: partial(call, operation) for operation in answers}, invoke=self._invoke)
        client.get_paginator = lambda operation: SimpleNamespace(paginate=partial(call, operation))
        return client

    def _invoke(self, FunctionName: str, Payload: bytes) -> Any:  # noqa: N803
        assert FunctionName == "maintenance"
        self.asked.add("lambda:invoke")
        ((task, action),) = json.loads(Payload).items()
        listed = {"list": {"limit": 1}}
        assert action == {"runtime": {}, "dead_letters": listed, "parked": listed}.get(task, {"show": {}})
        answer = {"turn": None, "done": True} | self.says["tasks"][task]
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}

    def change(self, changes: dict[str, Any]) -> None:
        """Change what dotted paths name, or take it away."""
        for path, value in changes.items():
            *parents, last = path.split(".")
            place = self.says
            for name in parents:
                place = place[int(name) if isinstance(place, list) else name]
            if value is GONE:
                del place[last]
            else:
                place[last] = value


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Aws:
    monkeypatch.setattr(doctor, "now", lambda: NOW)
    return Aws()


def found(run: Run) -> dict[str, tuple[str, str]]:
    """What is not well, by what it is about: the verdict and the detail."""
    ran = run("doctor --json")
    findings = [json.loads(line) for line in ran.out.splitlines()]
    bad = {one["about"]: (one["verdict"], one["detail"]) for one in findings if one["verdict"] != Verdict.OK}
    assert ran.status == (DIFFERS if Verdict.FAILED in {verdict for verdict, _ in bad.values()} else OK)
    return bad


def test_a_healthy_stack_has_no_failure_and_the_page_names_the_permissions(run: Run, connection: Aws) -> None:
    """An action has its operation's name, but for the layer's."""
    ran = run("doctor")
    *lines, summary = ran.out.splitlines()
    assert (ran.status, summary) == (OK, f"{len(lines)} ok, 0 note, 0 failed")
    assert {line[:8] for line in lines} == {"ok      "}
    assert "1.44.5 with urllib3 2.8.0, on Python 3.13.1" in ran.out
    assert len(lines) >= 20
    page = (PROJECT / "docs/reference/command-line.md").read_text(encoding="utf-8")
    named = json.loads(page.partition("It needs these permissions")[2].partition("```json\n")[2].partition("```")[0])
    actions = {one.title().replace("_", "") for one in connection.asked}
    others = {"Lambda:Invoke": "lambda:InvokeFunction", "Lambda:GetLayerVersionByArn": "lambda:GetLayerVersion"}
    assert {others.get(one, one[0].lower() + one[1:]) for one in actions} == set(named)


PROJECTOR_READS, WRITER_READS = "ProjectorFunction reads its source", "WriterFunction reads its source"
PROTECTION, ONCE = "protection of the tables against deletion", "functions that may run at once"
MEMBER_BOARDS: Final = "tables.scores.GlobalSecondaryIndexes"
INDEX, PROTECTED = "tables.rankings.GlobalSecondaryIndexes", "tables.scores.DeletionProtectionEnabled"
SINCE_DEPLOYED: Final = {
    "alarms.not-polled.StateValue": "ALARM",
    "alarms.not-polled.AlarmConfigurationUpdatedTimestamp": NOW - timedelta(minutes=19),
}
URL: Final = "the function URL"
ANYONE: Final = [
    {"Principal": "*", "Action": action, "Condition": condition}
    for action, condition in (
        ("lambda:InvokeFunctionUrl", {"StringEquals": {"lambda:FunctionUrlAuthType": "NONE"}}),
        ("lambda:InvokeFunction", {"Bool": {"lambda:InvokedViaFunctionUrl": "true"}}),
    )
]
OPEN_URL: Final[dict[str, Any]] = {
    "parameters.FunctionUrl": "open",
    "urls": [{"AuthType": "NONE"}],
    "policy": ANYONE,
    "statuses.URL": 200,
}
BYTECODE = "bytecode of the runtime's SDK"
TO_BUILD = "but the layer was built for python3.13, "


BROKEN: Final[list[tuple[dict[str, Any], str, str]]] = [
    ({"mappings.projector": GONE}, PROJECTOR_READS, "got nothing: deploy again"),
    ({"tables.scores.LatestStreamArn": "newer"}, PROJECTOR_READS, "expected a mapping of newer, got stream: "),
    ({"mappings.writer.State": "Disabled"}, WRITER_READS, "-source-mapping --uuid w --enabled"),
    ({"mappings.announcer.State": "Disabled"}, "AnnouncerFunction reads its source", "--uuid a --enabled"),
    ({"mappings.projector.LastProcessingResult": "PROBLEM: no"}, PROJECTOR_READS, "cannot read stream: PROBLEM: no"),
    ({"tables.scores.StreamSpecification.StreamEnabled": False}, "the stream of Scores", "no stream"),
    ({"tables.scores.StreamSpecification.StreamViewType": "NEW_IMAGE"}, "the stream of Scores", "got NEW_IMAGE"),
    ({"expiry.receipts.TimeToLiveStatus": "DISABLED"}, "expiry of ReceiptsTable", "got e DISABLED"),
    ({"expiry.rankings.AttributeName": "ttl"}, "expiry of RankingsTable", "got ttl ENABLED"),
    ({"backups.receipts": "DISABLED"}, "point-in-time recovery of ReceiptsTable", "got DISABLED"),
    ({PROTECTED: False}, PROTECTION, "ScoresTable can be deleted: deploy again"),
    ({INDEX: []}, "the sorted index of Rankings", "got none"),
    ({f"{INDEX}.0.IndexStatus": "CREATING"}, "the sorted index of Rankings", "got CREATING"),
    ({f"{MEMBER_BOARDS}.0.IndexStatus": "CREATING"}, "the index of members' boards", "`member boards` has no answer"),
    ({MEMBER_BOARDS: []}, "the index of members' boards", "expected an index boards, got none: deploy again"),
    ({f"{INDEX}.0.WarmThroughput": GONE}, "warm throughput", "0 WriteUnitsPerSecond of places, expected 8,000"),
    ({"functions.query.Runtime": "python3.12"}, "runtime of QueryFunction", f"3.12 on arm64, {TO_BUILD}arm64"),
    ({"functions.writer.Architectures": ["x86_64"]}, "runtime of WriterFunction", f"on x86_64, {TO_BUILD}"),
    ({"functions.command.Layers": []}, "runtime of CommandFunction", "got none"),
    ({"tasks.runtime.botocore": "1.34.99"}, "botocore of the runtime", "expected 1.35 or later, got 1.34.99"),
    ({"tasks.runtime.time_zones": "2025b"}, "version of the time zones", "expected 2026f, as here, got 2025b"),
    ({"tasks.runtime.time_zones": GONE}, "version of the time zones", "got those of AWS's machines: deploy"),
    ({"concurrency": 23}, ONCE, "the account allows 23, expected 24, 10 of WriterFunction, 4 of ProjectorFunction, 10"),
    ({"concurrency": 27, "parameters.ProjectorParallelizationFactor": "2"}, ONCE, "8 of ProjectorFunction"),
    ({"statuses.GET": NoAnswerError("Could not connect")}, "signatures", "could not look: Could not connect"),
    ({"statuses.GET": 200}, "unsigned reads", "expected 401 or 403, got 200: deploy again with OpenReads=false"),
    ({"statuses.POST": 404}, "unsigned writes", "expected 401 or 403, got 404: deploy again with OpenWrites=false"),
    ({"statuses.POST": 400}, "unsigned writes", "expected 401 or 403, got 400: deploy again with OpenWrites=false"),
    ({"urls": []}, URL, "FunctionUrl is iam: expected AWS_IAM, got none: deploy again"),
    ({"urls": [{"AuthType": "NONE"}]}, URL, "FunctionUrl is iam: expected AWS_IAM, got NONE: deploy again"),
    ({"parameters.FunctionUrl": "none"}, URL, "expected none, got AWS_IAM: `aws lambda delete-function-url-config"),
    ({"parameters.FunctionUrl": GONE}, URL, "FunctionUrl is none: expected none, got AWS_IAM"),
    ({"policy": ANYONE}, URL, "expected that anyone may do nothing, got [{"),
    (
        {"policy": ANYONE, "parameters.FunctionUrl": "none", "urls": []},
        URL,
        "FunctionUrl is none: expected that anyone",
    ),
    ({**OPEN_URL, "policy": ANYONE[:1]}, URL, 'got [{"action": "lambda:InvokeFunctionUrl", "StringEquals"'),
    ({**OPEN_URL, "policy": [ANYONE[0], {**ANYONE[1], "Condition": {}}]}, URL, "`aws lambda remove-permission`"),
    ({"statuses.URL": 200}, URL, "expected 401 or 403 for a read without a signature, got 200: deploy again"),
    ({**OPEN_URL, "statuses.URL": 403}, URL, "expected 200 for a read without a signature, got 403: deploy again"),
    ({"alarms.drift.StateValue": "ALARM"}, "alarms", "ringing: DriftAlarm"),
    ({"alarms.drift.AlarmActions": []}, "topic of the alarms", "without an action: DriftAlarm"),
    ({"alarms.drift.ActionsEnabled": False}, "topic of the alarms", "actions are disabled: DriftAlarm"),
    ({"alarms.drift.AlarmActions": ["other"]}, "topic of the alarms", "expected topic, got another one for DriftAlarm"),
    ({"alarms.drift": GONE}, "alarms", "gone: DriftAlarm: deploy again"),
    ({"resources.DriftAlarm": GONE, "resources.StreamNotPolledAlarm": GONE}, "alarms", "gone: all of them"),
    ({"alarms.not-polled.StateValue": "ALARM"}, "alarms", "ringing: StreamNotPolledAlarm"),
    ({"recursion": "Terminate"}, "the announcer's loop", "expected RecursiveLoop Allow, got Terminate"),
    ({"queued.ApproximateNumberOfMessagesNotVisible": "3"}, "refused messages", "there are 3: `standings dlq list`"),
    ({"tasks.audits.ran_at": 1700000000000}, "scheduled audits", "the last run was at 2023-11-14T22:13:20.000Z"),
    ({"tasks.dead_letters.messages": [{"id": "1"}]}, "refused messages", "there are some: `standings dlq list`"),
    ({"tasks.parked.objects": [{"key": "1"}]}, "parked records", "there are some: `standings parked list`"),
    ({"tasks.audits.last.drift": 3}, "scheduled audits", "3 differences since 2026-11-21T10:15:00.000Z"),
    ({"tasks.audits.last.failed": ["b"]}, "scheduled audits", "left out b"),
    ({"tasks.settlements.settles": False}, "settled periods", "league-*, but the stack cannot"),
    ({"tasks.announcements.announces": False}, "announced tops", "race-*, but the stack cannot"),
    ({"denied": {"get_account_settings"}}, "concurrency", "could not look: An error occurred (AccessDenied)"),
    ({"resources.LooksQueue": GONE}, "mappings", "the stack has no 'LooksQueue': is it a stack of Standings"),
]
EXPLAINED: Final[list[tuple[dict[str, Any], str, str]]] = [
    ({PROTECTED: False, "parameters.DeletionProtection": "false"}, PROTECTION, "deploy with DeletionProtection=true"),
    ({"parameters.WarmWriteUnits": "0"}, "warm throughput", "set WarmWriteUnits"),
    ({"parameters.WriterMaximumConcurrency": "0"}, ONCE, "WriterMaximumConcurrency is 0"),
    ({"statuses.GET": 200, "parameters.OpenReads": "true"}, "unsigned reads", "OpenReads is true"),
    ({"parameters.AlarmTopicArn": ""}, "topic of the alarms", "deploy with AlarmTopicArn"),
    ({"waiting.ApproximateNumberOfMessages": "6413"}, "messages in the queue", "6,512 wait for the writer: look again"),
    ({"parameters.AuditSchedule": ""}, "scheduled audits", "deploy with AuditSchedule"),
    ({"tasks.audits.last": None}, "scheduled audits", "none has run yet"),
    (SINCE_DEPLOYED, "alarms", "StreamNotPolledAlarm: new, and ringing until Lambda polls for the first time"),
    ({"parameters.SettleSchedule": ""}, "settled periods", "deploy with SettleSchedule"),
    (OPEN_URL, URL, "open to anyone: FunctionUrl is open"),
    ({"statuses.SIGNED": 403}, URL, "these credentials with 403: the policy of the output FunctionUrlPolicyArn"),
    ({"tasks.runtime.sdk_compiled": False}, BYTECODE, "not compiled: each cold start compiles"),
    ({"tasks.runtime.dynamodb_client": "botocore"}, "client of DynamoDB", "botocore: the environment asks for what"),
    ({"tasks.runtime.dynamodb_client": GONE}, "client of DynamoDB", "deploy a newer version"),
    ({"tasks.runtime.sdk_compiled": GONE}, BYTECODE, "deploy a newer version"),
]


@pytest.mark.parametrize(
    ("verdict", "changes", "about", "words"),
    [*((Verdict.FAILED, *row) for row in BROKEN), *((Verdict.NOTE, *row) for row in EXPLAINED)],
    ids=str,
)
def test_it_is_found(
    run: Run, connection: Aws, verdict: Verdict, changes: dict[str, Any], about: str, words: str
) -> None:
    connection.change(changes)
    ((named, (judged, detail)),) = found(run).items()
    assert (named, judged) == (about, verdict)
    assert words in detail


RESERVED: Final = {"parameters.WriterReservedConcurrency": "10", "parameters.ProjectorReservedConcurrency": "4"}


@pytest.mark.parametrize(
    "changes",
    [
        {"concurrency": 10, **RESERVED},  # what is reserved is not asked of the rest of the account
        {"concurrency": 24},
        {"resources.AnnouncerFunction": GONE, "resources.LooksQueue": GONE},
        {"tasks.settlements": {"families": [], "settles": False}, "tasks.announcements.families": []},
        {"tasks.runtime.botocore": "1.35.0"},
        {"statuses.GET": 401, "statuses.URL": 401},
        {"parameters.FunctionUrl": "none", "urls": []},
        {"parameters.FunctionUrl": GONE, "urls": []},
    ],
    ids=str,
)
def test_what_nothing_is_wrong_with(run: Run, connection: Aws, changes: dict[str, Any]) -> None:
    connection.change(changes)
    assert found(run) == {}


def test_what_a_local_aws_leaves_out_is_noted(run: Run, connection: Aws) -> None:
    open_here = {"statuses.GET": 200, "statuses.POST": 400}
    connection.change({"is_local": True, **open_here, "denied": {"get_account_settings"}})
    connection.change({"expiry.receipts.TimeToLiveStatus": "DISABLED", "backups.receipts": "DISABLED"})
    connection.change({f"tables.{name}.WarmThroughput": GONE for name in ("scores", "receipts", "rankings")})
    others = found(run)

    assert {verdict for verdict, _ in others.values()} == {Verdict.NOTE}
    expected = {"unsigned reads", "unsigned writes", "warm throughput", "concurrency"}
    assert others.keys() == expected | {"expiry of ReceiptsTable", "point-in-time recovery of ReceiptsTable"}
    # What failed comes first, and all of these are one line.
    connection.change({"tables.scores.StreamSpecification.StreamEnabled": False})
    first, second, *rest = run("doctor").out.splitlines()
    assert first.startswith("failed  the stream of Scores: ")
    assert second.startswith("note    as on any local stack: ")
    assert all(about in second for about in others)
    assert {line[:8] for line in rest[:-1]} == {"ok      "}
    assert rest[-1].startswith(f"{len(rest) - 1} ok, ")


ACCOUNT: Final = "210987654321"
PRIVATE: Final = "what nobody else may know"
OF: Final = f"eu-central-1:{ACCOUNT}"
BOARD: Final = "doctor-1"
ARN: Final = f"arn:aws:lambda:{OF}:function:any"


def _refuse(code: str) -> None:
    raise ClientError({"Error": {"Code": code, "Message": ARN}}, "any")


def record(board: str) -> dict[str, Any]:
    return {"eventName": "INSERT", "dynamodb": {"Keys": {"pk": {"S": f"{board}#points"}, "sk": {"S": "m"}}}}


def services() -> Any:
    """Lambda, SQS and a stream, of which the third page has a record of the board, in account `ACCOUNT`."""
    pages = [[record("others")], [], [record(BOARD), record("others")]]
    sent = {"ReceiptHandle": PRIVATE, "Attributes": {"SenderId": f"AROA:{PRIVATE}", "SentTimestamp": "1"}}
    letters = [{"Body": json.dumps({"board": board}), **sent} for board in (BOARD, "others")]
    about = {"FunctionArn": ARN, "Environment": {"Variables": {"KEY": PRIVATE}}, "ResponseMetadata": {"RequestId": "r"}}
    grants = json.dumps({"Statement": [{"Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}}]})

    def get_records(ShardIterator: str) -> Any:  # noqa: N803
        following = {"NextShardIterator": ShardIterator + "+"} if len(ShardIterator) < 2 else {}
        return {"Records": pages[len(ShardIterator)], **following}

    return SimpleNamespace(
        get_function_configuration=lambda **_: deepcopy(about),
        list_function_url_configs=lambda **_: {"FunctionUrlConfigs": [{"FunctionArn": ARN, "AuthType": "AWS_IAM"}]},
        get_policy=lambda **_: {"Policy": grants},
        list_event_source_mappings=lambda **_: {"EventSourceMappings": [{"EventSourceArn": ARN}]},
        describe_stream=lambda **_: {"StreamDescription": {"Shards": [{"ShardId": "s"}]}},
        get_shard_iterator=lambda ShardIteratorType, **_: {"ShardIterator": {"LATEST": ""}[ShardIteratorType]},  # noqa: N803
        get_records=get_records,
        receive_message=lambda VisibilityTimeout, **_: {"Messages": {0: letters}[VisibilityTimeout]},  # noqa: N803
    )


def test_what_is_recorded_is_of_the_board_and_names_no_account(engine: Any, tmp_path: Path) -> None:
    others = services()
    connection: Any = SimpleNamespace(client=lambda name: engine if name == "dynamodb" else others)
    deployed = Deployed(connection)
    resources = {"ScoresTable": "Scores", "ActivityDeadLetterQueue": f"https://any/{ACCOUNT}/letters"}
    scores = {"TableArn": f"arn:aws:dynamodb:{OF}:table/Scores", "LatestStreamArn": f"arn:aws:dynamodb:{OF}:stream"}
    deployed.__dict__.update(resources=resources | dict.fromkeys(FUNCTIONS, "any"), tables={"ScoresTable": scores})
    deployed.__dict__.update(runtime={"sdk_compiled": False, "time_zones": "2026f"})
    recording = Recording(deployed, tmp_path / "record")
    assert {finding.verdict for finding in recording.of_stack()} == {Verdict.OK}
    assert list(recording.watch()) == []
    assert {finding.verdict for finding in recording.of_board(BOARD)} == {Verdict.OK}

    texts = {path.stem: path.read_text(encoding="utf-8") for path in recording.directory.iterdir()}
    assert ACCOUNT not in "".join(texts.values())
    assert PRIVATE not in "".join(texts.values())
    files = {name: json.loads(text) for name, text in texts.items()}
    assert files["WriterFunction"]["configuration"] == {"FunctionArn": ARN.replace(ACCOUNT, "123456789012")}
    assert files["condition"]["response"]["Error"]["Code"] == "ConditionalCheckFailedException"
    assert files["WriterFunction"]["variables"] == ["KEY"]
    assert files["runtime"] == deployed.runtime
    assert files["function-url"]["configs"][0]["AuthType"] == "AWS_IAM"
    assert files["function-url"]["grants"] == [{"Principal": {"AWS": "arn:aws:iam::123456789012:root"}}]
    reasons = files["cancelled-transaction"]["response"]["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["ConditionalCheckFailed", "None"]
    assert files["invalid-transaction"]["response"]["Error"]["Code"] == "ValidationException"
    assert files["stream-records"] == [record(BOARD)]
    assert files["dead-letters"] == [{"Body": json.dumps({"board": BOARD}), "Attributes": {"SentTimestamp": "1"}}]
    assert rows(engine, "Scores") == []

    # What may not be read is a note, and the rest is saved.
    others.get_function_configuration = lambda **_: _refuse("AccessDeniedException")
    verdicts = {finding.about: finding.verdict for finding in Recording(deployed, tmp_path / "denied").of_stack()}
    assert (verdicts["record of WriterFunction"], verdicts["record of condition"]) == (Verdict.NOTE, Verdict.OK)
    assert not (tmp_path / "denied" / "WriterFunction.json").exists()


def test_account_numbers_are_replaced_and_nothing_else() -> None:
    # A time in milliseconds has 13 digits.
    for text in (f"arn:aws:sqs:{OF}:q", f"https://sqs.any/{ACCOUNT}/q", f"bucket-{ACCOUNT}-eu", "1795256100000"):
        assert json.loads(without_account(text)) == text.replace(ACCOUNT, "123456789012")
    assert json.loads(without_account(f"ab{ACCOUNT}cd")) == f"ab{ACCOUNT}cd"


BOARDS = """
[boards."*"]
timezone = "Australia/Adelaide"
week_start = "sunday"
late = "2 days"
seasons = [{ name = "november", starts = "2026-11-01", ends = "2026-12-01" }]
metrics.points = { aggregate = "sum", windows = ["all", "day", "week", "last-3-days", "hour", "last-24-hours"] }
metrics.best = { aggregate = "max", precision = 2, order = "ascending", ties = "first", windows = ["month", "year"] }
metrics.least = { aggregate = "min", precision = 1, least = 1.5, most = 20.5, windows = ["last-7-days", "season"] }
metrics.latest = { aggregate = "last", windows = ["all"], ranked_from = 3 }
metrics.total = { aggregate = "sum", windows = ["all", "last-3-days"], tie_breaks = ["least", "best", "latest"] }
metrics.lift = { aggregate = "max", most = 3, windows = ["all", "last-3-days"], tie_breaks = ["bodyweight"] }
metrics.bodyweight = { with = "lift", order = "ascending", precision = 1 }
[boards."howe-*"]
timezone = "Australia/Lord_Howe"
metrics.points = { aggregate = "sum", windows = ["hour", "last-3-hours", "day"], ranked_from = 5 }
[boards."small"]
metrics.points = { aggregate = "sum", windows = ["all", "last-3-days"] }
[boards."never"]
metrics.points = { aggregate = "sum", windows = ["all"], most = 4, ranked_from = 5 }
[boards."narrow"]
metrics.points = { aggregate = "sum", windows = ["all"], least = 0.2, most = 0.9, precision = 1 }
[boards."registered"]
members = "registered"
metrics.points = { aggregate = "sum", windows = ["all"] }
"""


@dataclass
class Trial:
    """A stack whose queue and stream move on while the exercise waits."""

    stack: Stack
    connection: Any = None
    meddle: Callable[[Stack], bool] = lambda _: True
    """Called after each time that the pipeline has moved on, until it has done something."""
    is_meddled: bool = False

    def pass_time(self, seconds: float) -> None:
        self.stack.clock.milliseconds += round(seconds * 1000)
        self.connection.settle()
        self.is_meddled = self.is_meddled or self.meddle(self.stack)

    def findings(self, board: str = BOARD) -> dict[str, Finding]:
        stack = self.stack
        tools = Tools(
            connection=self.connection,
            now=lambda: datetime.fromtimestamp(stack.clock() / 1000, UTC),
            monotonic=stack.clock.monotonic,
            sleep=self.pass_time,
            rng=Random(board),
            say=lambda _: None,
        )
        return {finding.about: finding for finding in exercise.exercise(tools, board)}


@pytest.fixture
def trial(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trial]:
    monkeypatch.setattr(exercise, "EVENTS", 50)
    monkeypatch.setattr(exercise, "PROBES", 3)
    monkeypatch.setattr(exercise, "TIMEOUT_S", 4.0)
    trial = Trial(stack)
    with connected(stack, trial.pass_time) as trial.connection:
        yield trial


def content(stack: Stack) -> list[Any]:
    return [row for table in ("Scores", "Rankings") for row in rows(stack.dynamodb, table)]


def test_a_stack_that_counts_right_passes_and_is_left_clean(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exercise, "EVENTS", 120)
    found = trial.findings()

    assert {finding.verdict for finding in found.values()} == {Verdict.OK}, found
    assert found.keys() == {"ranks", "lag", "a dead letter", "ranks after a replay", "audit", "clean-up"}
    assert "in 15 rankings: 0 wrong" in found["ranks"].detail
    assert "of 3 single events" in found["lag"].detail
    assert "5 minutes ahead" in found["a dead letter"].detail
    # Nothing is left but what expires: the versions of removed members, and receipts.
    assert [row for row in content(trial.stack) if row["pk"]["S"].startswith(f"{BOARD}#") and "e" not in row] == []
    assert trial.stack.dead_letters.messages == []
    assert trial.stack.get("/boards", prefix=BOARD)[1]["boards"] == []


@pytest.mark.parametrize("now", ["2026-07-01T04:10Z", "2026-04-04T15:10Z", "2026-10-03T15:40Z"])
def test_hours_are_right_where_the_clocks_change_by_half_an_hour(trial: Trial, now: str) -> None:
    trial.stack.clock.milliseconds = round(datetime.fromisoformat(now).timestamp() * 1000)

    assert "in 3 rankings: 0 wrong" in trial.findings("howe-1")["ranks"].detail


SMALL = "small"  # It has two rankings, the other one fifteen


def miscount(stack: Stack) -> bool:
    """Change what the roots of the board's tier trees count."""
    of_board = [row for row in rows(stack.dynamodb, "Rankings") if row["pk"]["S"].startswith(f"{SMALL}#")]
    roots = [row for row in of_board if row["pk"]["S"].endswith("/") and "e" not in row]
    for row in roots:
        digit = next(name for name in row if name not in ("pk", "v", "t", "n", "c"))
        stack.dynamodb.put_item(TableName="Rankings", Item={**row, digit: {"N": "1000"}})
    return bool(roots)


def lose(stack: Stack) -> bool:
    """Delete a member with its scores."""
    members = [row for row in rows(stack.dynamodb, "Scores") if row["pk"]["S"].startswith(f"{SMALL}#")]
    for row in members[:1]:
        stack.dynamodb.delete_item(TableName="Scores", Key={"pk": row["pk"], "sk": row["sk"]})
        project(stack)
    return bool(members)


@pytest.mark.parametrize(("meddle", "also"), [(miscount, {"audit"}), (lose, set())])
def test_what_is_wrong_is_found(trial: Trial, meddle: Callable[[Stack], bool], also: set[str]) -> None:
    trial.meddle = meddle
    found = trial.findings(SMALL)
    assert trial.is_meddled
    failed = {about for about, finding in found.items() if finding.verdict == Verdict.FAILED}
    assert failed >= {"ranks", "ranks after a replay"} | also
    assert "differences in" in found["ranks"].detail


def test_a_pipeline_that_stands_still_is_found(trial: Trial) -> None:
    trial.stack.writer = lambda *_: {"batchItemFailures": []}
    found = trial.findings()
    assert {found[about].verdict for about in ("ranks", "lag", "a dead letter")} == {Verdict.FAILED}


def test_a_board_in_use_is_left_alone(trial: Trial) -> None:
    apply(trial.stack, [event("m", 5)])
    before = content(trial.stack)
    (found,) = trial.findings("b").values()
    assert found.verdict == Verdict.FAILED
    assert "expected a board without members, got 1 on b" in found.detail
    assert content(trial.stack) == before


@pytest.mark.parametrize(
    ("board", "why"),
    [
        ("registered", "registered takes only registered members"),
        ("narrow", "narrow takes no whole number for points"),
        ("never", "one event alone is never ranked by points of never"),
    ],
)
def test_a_board_that_does_not_take_the_events_is_refused(trial: Trial, board: str, why: str) -> None:
    (found,) = trial.findings(board).values()
    assert found == (Verdict.FAILED, "exercise", f"{why}: name another with --board")
