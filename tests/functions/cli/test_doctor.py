"""`standings doctor`: each check of a stack fails where it should and says what to do; and what `--record` saves."""

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
from botocore.exceptions import ClientError

from standings_cli.doctor.deployed import ANNOUNCER, FUNCTIONS, TABLES, Deployed
from standings_cli.doctor.finding import Verdict
from standings_cli.doctor.recording import Recording, without_account
from standings_cli.stack.errors import NoAnswerError
from standings_cli.stack.maintenance_function import Maintenance
from standings_cli.terminal.exit_status import DIFFERS, OK
from tests.support.builders.checks import rows
from tests.support.cli.command_line import Run

ACCOUNT: Final = "210987654321"
OF: Final = f"eu-central-1:{ACCOUNT}"
STREAM_ARN: Final = f"arn:aws:dynamodb:{OF}:table/scores/stream/1"
LAYER_ARN: Final = f"arn:aws:lambda:{OF}:layer:standings:7"
TOPIC_ARN: Final = f"arn:aws:sns:{OF}:ops"
ALARMS: Final = ("DriftAlarm", "StreamNotPolledAlarm")
GONE: Final = object()


class Aws:
    """The answers of AWS about a healthy stack. Tests break one thing at a time."""

    def __init__(self) -> None:
        self.stack, self.is_local, self.denied = "standings", False, set[str]()
        self.parameters = {
            "AuditSchedule": "rate(1 hour)",
            "AlarmTopicArn": TOPIC_ARN,
            "DataDeletionPolicy": "RetainExceptOnCreate",
            "DeletionProtection": "true",
            "OpenReads": "false",
            "OpenWrites": "false",
            "ProjectorParallelizationFactor": "1",
            "SettleSchedule": "rate(1 hour)",
            "WarmReadUnits": "0",
            "WarmWriteUnits": "8000",
            "WriterMaximumConcurrency": "10",
        }
        names = (*TABLES, *FUNCTIONS, *ALARMS, ANNOUNCER, "ActivityQueue", "LooksQueue")
        self.resources = {name: name.lower() for name in names}
        warm = {"WriteUnitsPerSecond": 8_000, "ReadUnitsPerSecond": 12_000}
        tables = [name.lower() for name in TABLES]
        self.tables: Any = {name: {"DeletionProtectionEnabled": True, "WarmThroughput": {**warm}} for name in tables}
        stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
        self.tables["scorestable"] |= {"StreamSpecification": stream, "LatestStreamArn": STREAM_ARN}
        places = {"IndexName": "places", "IndexStatus": "ACTIVE", "WarmThroughput": {**warm}}
        self.tables["rankingstable"]["GlobalSecondaryIndexes"] = [places]
        self.expiry = {name: {"TimeToLiveStatus": "ENABLED", "AttributeName": "e"} for name in tables}
        self.backups = dict.fromkeys(("scorestable", "receiptstable", "profilestable"), "ENABLED")
        self.mappings = {
            "writerfunction": {"UUID": "w", "EventSourceArn": "activityqueue", "State": "Enabled"},
            "projectorfunction": {"UUID": "p", "EventSourceArn": STREAM_ARN, "State": "Enabled"},
            "announcerfunction": {"UUID": "a", "EventSourceArn": "looksqueue", "State": "Enabled"},
        }
        self.functions = {
            name.lower(): {"Runtime": "python3.13", "Architectures": ["arm64"], "Layers": [{"Arn": LAYER_ARN}]}
            for name in (*FUNCTIONS, ANNOUNCER)
        }
        self.layer = {"CompatibleRuntimes": ["python3.13"], "CompatibleArchitectures": ["arm64"]}
        self.concurrency = 1_000
        self.alarms = {name.lower(): {"StateValue": "OK", "AlarmActions": [TOPIC_ARN]} for name in ALARMS}
        turn = {"since": 1_795_256_100_000, "drift": 0, "failed": []}
        self.tasks: Any = {
            "runtime": {"python": "3.13.1", "botocore": "1.44.5"},
            "dead_letters": {"messages": []},
            "parked": {"objects": []},
            "audits": {"ran_at": 1_795_256_100_000, "turn": None, "last": turn},
            "settlements": {"families": ["league-*"], "settles": True},
            "announcements": {"families": ["race-*"], "announces": True},
        }
        self.statuses: Any = {"GET": 403, "POST": 403}
        self.maintenance = Maintenance(self.client("lambda"), "maintenancefunction")

    def unsigned(self, method: str, _: str) -> int:
        if isinstance(self.statuses[method], Exception):
            raise self.statuses[method]
        return int(self.statuses[method])

    def client(self, _: str) -> Any:
        """All services in one."""
        alarms = [{"AlarmName": name, **alarm} for name, alarm in self.alarms.items()]
        others = {"AlarmName": "of-another-stack", "StateValue": "ALARM", "AlarmActions": []}
        resources = ({"LogicalResourceId": name, "PhysicalResourceId": own} for name, own in self.resources.items())
        pages = {
            "list_stack_resources": [{"StackResourceSummaries": [one]} for one in resources],  # a page for each
            "describe_alarms": [{"MetricAlarms": [others]}, {"MetricAlarms": alarms}],
        }
        given = [{"ParameterKey": name, "ParameterValue": value} for name, value in self.parameters.items()]
        operations = {
            "get_paginator": lambda operation: SimpleNamespace(paginate=lambda **_: pages[operation]),
            "describe_stacks": lambda **_: {"Stacks": [{"Parameters": given}]},
            "get_queue_attributes": lambda QueueUrl, **_: {"Attributes": {"QueueArn": QueueUrl}},  # noqa: N803
            "describe_table": lambda TableName: {"Table": self.tables[TableName]},  # noqa: N803
            "describe_time_to_live": lambda TableName: {"TimeToLiveDescription": self.expiry[TableName]},  # noqa: N803
            "describe_continuous_backups": lambda TableName: {  # noqa: N803
                "ContinuousBackupsDescription": {
                    "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": self.backups[TableName]}
                }
            },
            "list_event_source_mappings": lambda FunctionName: {  # noqa: N803
                "EventSourceMappings": [self.mappings[FunctionName]] if FunctionName in self.mappings else []
            },
            "get_function_configuration": lambda FunctionName: self.functions[FunctionName],  # noqa: N803
            "get_layer_version_by_arn": lambda Arn: {LAYER_ARN: self.layer}[Arn],  # noqa: N803
            "get_account_settings": lambda: {"AccountLimit": {"UnreservedConcurrentExecutions": self.concurrency}},
            "invoke": self._invoke,
        }
        for name in self.denied:
            operations[name] = lambda **_: _refuse("AccessDenied")
        return SimpleNamespace(**operations)

    def _invoke(self, FunctionName: str, Payload: bytes) -> Any:  # noqa: N803
        assert FunctionName == "maintenancefunction"
        ((task, action),) = json.loads(Payload).items()
        listed = {"list": {"limit": 1}}
        assert action == {"runtime": {}, "dead_letters": listed, "parked": listed}.get(task, {"show": {}})
        return {"Payload": io.BytesIO(json.dumps(self.tasks[task] | {"done": True}).encode())}

    def change(self, changes: dict[str, Any]) -> None:
        """Change what dotted paths name, or take it away."""
        for path, value in changes.items():
            *parents, last = path.split(".")
            place: Any = self.__dict__
            for name in parents:
                place = place[int(name) if isinstance(place, list) else name]
            if value is GONE:
                del place[last]
            else:
                place[last] = value


@pytest.fixture
def connection() -> Aws:
    return Aws()


def found(run: Run) -> dict[str, tuple[str, str]]:
    """What is not well, by what it is about: the verdict and the detail."""
    ran = run("doctor --json")
    findings = [json.loads(line) for line in ran.out.splitlines()]
    bad = {one["about"]: (one["verdict"], one["detail"]) for one in findings if one["verdict"] != Verdict.OK}
    assert ran.status == (DIFFERS if Verdict.FAILED in {verdict for verdict, _ in bad.values()} else OK)
    return bad


def test_a_healthy_stack_has_no_failure_and_no_note(run: Run) -> None:
    ran = run("doctor")
    *lines, summary = ran.out.splitlines()
    assert (ran.status, summary) == (OK, f"{len(lines)} ok, 0 note, 0 failed")
    assert {line[:8] for line in lines} == {"ok      "}
    assert len(lines) >= 20


PROJECTOR_READS, WRITER_READS = "ProjectorFunction reads its source", "WriterFunction reads its source"
PROTECTION, ONCE = "protection of the tables against deletion", "functions that may run at once"
INDEX = "tables.rankingstable.GlobalSecondaryIndexes"
TO_BUILD = "but the layer was built for python3.13, "


@pytest.mark.parametrize(
    ("changes", "about", "words"),
    [
        ({"mappings.projectorfunction": GONE}, PROJECTOR_READS, "got nothing: deploy again"),
        ({"tables.scorestable.LatestStreamArn": "newer"}, PROJECTOR_READS, "expected a mapping of newer, got arn:"),
        ({"mappings.writerfunction.State": "Disabled"}, WRITER_READS, "-source-mapping --uuid w --enabled"),
        ({"mappings.announcerfunction.State": "Disabled"}, "AnnouncerFunction reads its source", "--uuid a --enabled"),
        (
            {"mappings.projectorfunction.LastProcessingResult": "PROBLEM: no"},
            PROJECTOR_READS,
            f"{STREAM_ARN}: PROBLEM:",
        ),
        ({"tables.scorestable.StreamSpecification.StreamEnabled": False}, "the stream of Scores", "no stream"),
        (
            {"tables.scorestable.StreamSpecification.StreamViewType": "NEW_IMAGE"},
            "the stream of Scores",
            "got NEW_IMAGE",
        ),
        ({"expiry.receiptstable.TimeToLiveStatus": "DISABLED"}, "expiry of ReceiptsTable", "got e DISABLED"),
        ({"expiry.rankingstable.AttributeName": "ttl"}, "expiry of RankingsTable", "got ttl ENABLED"),
        ({"backups.receiptstable": "DISABLED"}, "point-in-time recovery of ReceiptsTable", "got DISABLED"),
        (
            {"tables.scorestable.DeletionProtectionEnabled": False},
            PROTECTION,
            "ScoresTable can be deleted: deploy again",
        ),
        ({INDEX: []}, "the sorted index of Rankings", "got none"),
        ({f"{INDEX}.0.IndexStatus": "CREATING"}, "the sorted index of Rankings", "got CREATING"),
        ({f"{INDEX}.0.WarmThroughput": GONE}, "warm throughput", "0 WriteUnitsPerSecond of places, expected 8,000"),
        (
            {"functions.queryfunction.Runtime": "python3.12"},
            "runtime of QueryFunction",
            f"3.12 on arm64, {TO_BUILD}arm64",
        ),
        ({"functions.writerfunction.Architectures": ["x86_64"]}, "runtime of WriterFunction", f"on x86_64, {TO_BUILD}"),
        ({"functions.commandfunction.Layers": []}, "runtime of CommandFunction", "got none"),
        ({"tasks.runtime.botocore": "1.30.99"}, "botocore of the runtime", "expected 1.31 or later, got 1.30.99"),
        (
            {"concurrency": 23},
            ONCE,
            "the account allows 23, expected 24, 10 of WriterFunction, 4 of ProjectorFunction, 10",
        ),
        ({"statuses.GET": NoAnswerError("Could not connect")}, "signatures", "could not look: Could not connect"),
        ({"statuses.GET": 200}, "unsigned reads", "expected 401 or 403, got 200: deploy again with OpenReads=false"),
        ({"statuses.POST": 400}, "unsigned writes", "expected 401 or 403, got 400: deploy again with OpenWrites=false"),
        ({"alarms.driftalarm.StateValue": "ALARM"}, "alarms", "ringing: DriftAlarm"),
        ({"alarms.driftalarm.AlarmActions": []}, "topic of the alarms", "without an action: DriftAlarm"),
        ({"tasks.dead_letters.messages": [{"id": "1"}]}, "refused messages", "there are some: `standings dlq list`"),
        ({"tasks.parked.objects": [{"key": "1"}]}, "parked records", "there are some: `standings parked list`"),
        ({"tasks.audits.last.drift": 3}, "scheduled audits", "3 differences since 2026-11-21T10:15:00.000Z"),
        ({"tasks.audits.last.failed": ["b"]}, "scheduled audits", "left out b"),
        ({"tasks.settlements.settles": False}, "settled periods", "league-*, but the stack cannot"),
        ({"tasks.announcements.announces": False}, "announced tops", "race-*, but the stack cannot"),
        ({"denied": {"get_account_settings"}}, "concurrency", "could not look: An error occurred (AccessDenied)"),
        ({"resources.LooksQueue": GONE}, "mappings", "the stack has no 'LooksQueue': is it a stack of Standings"),
    ],
    ids=str,
)
def test_one_thing_that_is_wrong_is_found_alone(
    run: Run, connection: Aws, changes: dict[str, Any], about: str, words: str
) -> None:
    connection.change(changes)
    (finding,) = found(run).items()
    assert finding[0] == about
    assert finding[1][0] == Verdict.FAILED
    assert words in finding[1][1]


@pytest.mark.parametrize(
    ("changes", "about", "words"),
    [
        (
            {"tables.scorestable.DeletionProtectionEnabled": False, "parameters.DeletionProtection": "false"},
            PROTECTION,
            "deploy with DeletionProtection=true",
        ),
        ({"parameters.WarmWriteUnits": "0"}, "warm throughput", "set WarmWriteUnits"),
        ({"parameters.WriterMaximumConcurrency": "0"}, ONCE, "WriterMaximumConcurrency is 0"),
        ({"statuses.GET": 200, "parameters.OpenReads": "true"}, "unsigned reads", "OpenReads is true"),
        ({"parameters.AlarmTopicArn": ""}, "topic of the alarms", "deploy with AlarmTopicArn"),
        ({"parameters.AuditSchedule": ""}, "scheduled audits", "deploy with AuditSchedule"),
        ({"tasks.audits.last": None}, "scheduled audits", "none has run yet"),
        ({"parameters.SettleSchedule": ""}, "settled periods", "deploy with SettleSchedule"),
    ],
    ids=str,
)
def test_what_a_parameter_explains_is_a_note(
    run: Run, connection: Aws, changes: dict[str, Any], about: str, words: str
) -> None:
    connection.change(changes)
    (finding,) = found(run).items()
    assert finding[0] == about
    assert finding[1][0] == Verdict.NOTE
    assert words in finding[1][1]


@pytest.mark.parametrize(
    "changes",
    [
        # What is reserved is not asked of the rest of the account.
        {
            "concurrency": 10,
            "parameters.WriterReservedConcurrency": "10",
            "parameters.ProjectorReservedConcurrency": "4",
        },
        {"concurrency": 24},
        {"resources.AnnouncerFunction": GONE, "resources.LooksQueue": GONE},
        {"tasks.settlements": {"families": [], "settles": False}, "tasks.announcements.families": []},
        {"tasks.runtime.botocore": "1.31.0"},
    ],
    ids=str,
)
def test_what_nothing_is_wrong_with(run: Run, connection: Aws, changes: dict[str, Any]) -> None:
    connection.change(changes)
    assert found(run) == {}


def test_what_a_local_aws_leaves_out_is_noted(run: Run, connection: Aws) -> None:
    connection.change({"is_local": True, "statuses": {"GET": 200, "POST": 400}, "denied": {"get_account_settings"}})
    connection.change({"expiry.receiptstable.TimeToLiveStatus": "DISABLED", "backups.receiptstable": "DISABLED"})
    connection.change(dict.fromkeys((f"tables.{name.lower()}.WarmThroughput" for name in TABLES), GONE))
    others = found(run)

    assert {verdict for verdict, _ in others.values()} == {Verdict.NOTE}
    expected = {"unsigned reads", "unsigned writes", "warm throughput", "concurrency"}
    assert others.keys() == expected | {"expiry of ReceiptsTable", "point-in-time recovery of ReceiptsTable"}


# What `--record` saves: what AWS answers, and nobody's account number or activity.

BOARD: Final = "doctor-1"
ARN: Final = f"arn:aws:lambda:{OF}:function:any"


def _refuse(code: str) -> None:
    raise ClientError({"Error": {"Code": code, "Message": ARN}}, "any")


def record(board: str) -> dict[str, Any]:
    return {"eventName": "INSERT", "dynamodb": {"Keys": {"pk": {"S": f"{board}#points"}, "sk": {"S": "m"}}}}


@pytest.fixture
def services() -> Any:
    """Lambda, SQS and a stream, of which the third page has a record of the board, in account `ACCOUNT`."""
    pages = [[record("others")], [], [record(BOARD), record("others")]]
    letters = [{"Body": json.dumps({"board": board}), "Attributes": {}} for board in (BOARD, "others")]

    def get_records(ShardIterator: str) -> Any:  # noqa: N803
        following = {"NextShardIterator": ShardIterator + "+"} if len(ShardIterator) < 2 else {}
        return {"Records": pages[len(ShardIterator)], **following}

    return SimpleNamespace(
        get_function_configuration=lambda **_: {"FunctionArn": ARN, "ResponseMetadata": {"RequestId": "r"}},
        list_event_source_mappings=lambda **_: {"EventSourceMappings": [{"EventSourceArn": ARN}]},
        describe_stream=lambda **_: {"StreamDescription": {"Shards": [{"ShardId": "s"}]}},
        get_shard_iterator=lambda ShardIteratorType, **_: {"ShardIterator": {"LATEST": ""}[ShardIteratorType]},  # noqa: N803
        get_records=get_records,
        receive_message=lambda VisibilityTimeout, **_: {"Messages": {0: letters}[VisibilityTimeout]},  # noqa: N803
    )


@pytest.fixture
def recording(engine: Any, services: Any, tmp_path: Path) -> Recording:
    connection: Any = SimpleNamespace(client=lambda name: engine if name == "dynamodb" else services)
    deployed = Deployed(connection, "standings", is_local=False)
    resources = {"ScoresTable": "Scores", "ActivityDeadLetterQueue": f"https://any/{ACCOUNT}/letters"}
    scores = {"TableArn": f"arn:aws:dynamodb:{OF}:table/Scores", "LatestStreamArn": STREAM_ARN}
    deployed.__dict__.update(resources=resources | dict.fromkeys(FUNCTIONS, "any"), tables={"ScoresTable": scores})
    return Recording(deployed, tmp_path / "record")


def saved(recording: Recording) -> dict[str, Any]:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in recording.directory.iterdir()}
    assert ACCOUNT not in "".join(texts.values())
    return {name: json.loads(text) for name, text in texts.items()}


def test_the_stack_and_the_errors_of_writes_are_saved_and_nothing_is_written(recording: Recording, engine: Any) -> None:
    assert {finding.verdict for finding in recording.of_stack()} == {Verdict.OK}
    files = saved(recording)
    assert files["WriterFunction"]["configuration"] == {"FunctionArn": ARN.replace(ACCOUNT, "123456789012")}
    assert files["condition"]["response"]["Error"]["Code"] == "ConditionalCheckFailedException"
    reasons = files["cancelled-transaction"]["response"]["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["ConditionalCheckFailed", "None"]
    assert files["invalid-transaction"]["response"]["Error"]["Code"] == "ValidationException"
    assert rows(engine, "Scores") == []


def test_only_the_exercised_board_lends_its_records_and_messages(recording: Recording) -> None:
    assert list(recording.watch()) == []
    assert {finding.verdict for finding in recording.of_board(BOARD)} == {Verdict.OK}
    assert saved(recording)["stream-records"] == [record(BOARD)]
    assert [json.loads(letter["Body"])["board"] for letter in saved(recording)["dead-letters"]] == [BOARD]


def test_what_may_not_be_read_is_a_note_and_the_rest_is_saved(recording: Recording, services: Any) -> None:
    services.get_function_configuration = lambda **_: _refuse("AccessDeniedException")
    verdicts = {finding.about: finding.verdict for finding in recording.of_stack()}
    assert verdicts["record of WriterFunction"] == Verdict.NOTE
    assert verdicts["record of condition"] == Verdict.OK
    assert "WriterFunction" not in saved(recording)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"arn:aws:sqs:{OF}:q", "arn:aws:sqs:eu-central-1:123456789012:q"),
        (f"https://sqs.any/{ACCOUNT}/q", "https://sqs.any/123456789012/q"),
        (f"bucket-{ACCOUNT}-eu", "bucket-123456789012-eu"),
        ("1795256100000", "1795256100000"),  # a time in milliseconds has 13 digits
        ("ab210987654321cd", "ab210987654321cd"),
    ],
)
def test_account_numbers_are_replaced(text: str, expected: str) -> None:
    assert json.loads(without_account(text)) == expected
