"""A healthy stack on AWS, as the answers of its services describe it. Tests break one thing at a time."""

import io
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError

from standings_cli.doctor.deployed import ANNOUNCER, FUNCTIONS, TABLES, Deployed
from standings_cli.doctor.finding import Finding
from standings_cli.doctor.look import look
from standings_cli.stack.errors import NoAnswerError
from standings_cli.stack.maintenance_function import Maintenance

QUEUE_ARN = "arn:aws:sqs:eu-central-1:123456789012:standings-activity"
LOOKS_ARN = "arn:aws:sqs:eu-central-1:123456789012:standings-looks"
STREAM_ARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/scores/stream/2026-11-22T10:00:00.000"
LAYER_ARN = "arn:aws:lambda:eu-central-1:123456789012:layer:standings:7"
ALARMS = ("DriftAlarm", "StreamNotPolledAlarm")


class Stack:
    """The answers of AWS about a stack; attributes are to be changed."""

    def __init__(self) -> None:
        self.parameters = {
            "AuditSchedule": "rate(1 hour)",
            "AlarmTopicArn": "arn:aws:sns:eu-central-1:123456789012:ops",
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
        self.resources = {
            name: name.lower() for name in (*TABLES, *FUNCTIONS, *ALARMS, ANNOUNCER, "ActivityQueue", "LooksQueue")
        }
        warm = {"WriteUnitsPerSecond": 8_000, "ReadUnitsPerSecond": 12_000}
        self.tables: dict[str, Any] = {
            name.lower(): {"DeletionProtectionEnabled": True, "WarmThroughput": dict(warm)} for name in TABLES
        }
        stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
        self.tables["scorestable"] |= {"StreamSpecification": stream, "LatestStreamArn": STREAM_ARN}
        places = {"IndexName": "places", "IndexStatus": "ACTIVE", "WarmThroughput": dict(warm)}
        self.tables["rankingstable"]["GlobalSecondaryIndexes"] = [places]
        self.expiry = {name.lower(): {"TimeToLiveStatus": "ENABLED", "AttributeName": "e"} for name in TABLES}
        self.backups = dict.fromkeys(("scorestable", "receiptstable", "profilestable"), "ENABLED")
        self.mappings = {
            "writerfunction": {"UUID": "w", "EventSourceArn": QUEUE_ARN, "State": "Enabled"},
            "projectorfunction": {
                "UUID": "p",
                "EventSourceArn": STREAM_ARN,
                "State": "Enabled",
                "LastProcessingResult": "OK",
            },
            "announcerfunction": {"UUID": "a", "EventSourceArn": LOOKS_ARN, "State": "Enabled"},
        }
        self.functions: dict[str, Any] = {
            name.lower(): {"Runtime": "python3.13", "Architectures": ["arm64"], "Layers": [{"Arn": LAYER_ARN}]}
            for name in (*FUNCTIONS, ANNOUNCER)
        }
        self.layer = {"CompatibleRuntimes": ["python3.13"], "CompatibleArchitectures": ["arm64"]}
        self.concurrency = 1_000
        self.alarms: dict[str, Any] = {
            name.lower(): {"StateValue": "OK", "AlarmActions": [self.parameters["AlarmTopicArn"]]} for name in ALARMS
        }
        self.botocore = "1.44.5"
        self.left: dict[str, list[dict[str, str]]] = {"dead_letters": [], "parked": []}
        turn = {"since": 1_795_256_100_000, "drift": 0, "failed": []}
        self.audits: dict[str, Any] = {"done": True, "ran_at": 1_795_256_100_000, "turn": None, "last": turn}
        self.settlements: dict[str, Any] = {"done": True, "families": ["league-*"], "settles": True}
        self.announcements: dict[str, Any] = {"done": True, "families": ["race-*"], "announces": True}
        self.statuses = {"GET": 403, "POST": 403}
        self.denied: set[str] = set()

    def found(self, *, is_local: bool = False) -> dict[str, Finding]:
        """Look at the stack; the findings by what they are about."""
        connection: Any = SimpleNamespace(
            client=lambda service: _Client(self, service),
            maintenance=Maintenance(_Client(self, "lambda"), "maintenancefunction"),  # type: ignore[arg-type]
            unsigned=self._unsigned,
        )
        return {finding.about: finding for finding in look(Deployed(connection, "standings", is_local))}

    def _unsigned(self, method: str, _: str) -> int:
        if self.statuses[method] == 0:
            raise NoAnswerError("Could not connect")
        return self.statuses[method]


class _Client:
    """A client of one service."""

    def __init__(self, stack: Stack, service: str) -> None:
        self._stack = stack
        self._service = service

    def __getattr__(self, operation: str) -> Any:
        def call(**request: Any) -> Any:
            if operation in self._stack.denied:
                raise ClientError({"Error": {"Code": "AccessDenied", "Message": "not authorized"}}, operation)
            return getattr(self, f"_{operation}")(**request)

        return call

    def get_paginator(self, operation: str) -> Any:
        return SimpleNamespace(paginate=getattr(self, f"_pages_{operation}"))

    def _describe_stacks(self, **_: Any) -> Any:
        given = [{"ParameterKey": name, "ParameterValue": value} for name, value in self._stack.parameters.items()]
        return {"Stacks": [{"Parameters": given}]}

    def _pages_list_stack_resources(self, **_: Any) -> Iterator[Any]:
        for name, physical in self._stack.resources.items():  # a page for each
            yield {"StackResourceSummaries": [{"LogicalResourceId": name, "PhysicalResourceId": physical}]}

    def _get_queue_attributes(self, QueueUrl: str, **_: Any) -> Any:  # noqa: N803
        return {"Attributes": {"QueueArn": LOOKS_ARN if QueueUrl == "looksqueue" else QUEUE_ARN}}

    def _describe_table(self, TableName: str) -> Any:  # noqa: N803
        return {"Table": self._stack.tables[TableName]}

    def _describe_time_to_live(self, TableName: str) -> Any:  # noqa: N803
        return {"TimeToLiveDescription": self._stack.expiry[TableName]}

    def _describe_continuous_backups(self, TableName: str) -> Any:  # noqa: N803
        state = {"PointInTimeRecoveryStatus": self._stack.backups[TableName]}
        return {"ContinuousBackupsDescription": {"PointInTimeRecoveryDescription": state}}

    def _list_event_source_mappings(self, FunctionName: str) -> Any:  # noqa: N803
        mapping = self._stack.mappings.get(FunctionName)
        return {"EventSourceMappings": [] if mapping is None else [mapping]}

    def _get_function_configuration(self, FunctionName: str) -> Any:  # noqa: N803
        return self._stack.functions[FunctionName]

    def _get_layer_version_by_arn(self, Arn: str) -> Any:  # noqa: N803
        assert Arn == LAYER_ARN
        return self._stack.layer

    def _get_account_settings(self) -> Any:
        return {"AccountLimit": {"UnreservedConcurrentExecutions": self._stack.concurrency}}

    def _pages_describe_alarms(self, **_: Any) -> Iterator[Any]:
        others = [{"AlarmName": "of-another-stack", "StateValue": "ALARM", "AlarmActions": []}]
        yield {"MetricAlarms": others}
        yield {"MetricAlarms": [{"AlarmName": name, **alarm} for name, alarm in self._stack.alarms.items()]}

    def _invoke(self, FunctionName: str, Payload: bytes) -> Any:  # noqa: N803
        assert FunctionName == "maintenancefunction"
        ((task, action),) = json.loads(Payload).items()
        if task == "runtime":
            answer = {"python": "3.13.1", "botocore": self._stack.botocore, "done": True}
            return {"Payload": io.BytesIO(json.dumps(answer).encode())}
        if action == {"show": {}}:
            stack = self._stack
            answers = {
                "audits": stack.audits,
                "settlements": stack.settlements,
                "announcements": stack.announcements,
            }
            return {"Payload": io.BytesIO(json.dumps(answers[task]).encode())}
        assert action == {"list": {"limit": 1}}
        name = {"dead_letters": "messages", "parked": "objects"}[task]
        return {"Payload": io.BytesIO(json.dumps({name: self._stack.left[task], "done": True}).encode())}
