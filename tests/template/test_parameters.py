"""The template's parameters do what they say."""

import json
import re
from pathlib import Path

import pytest

from tests.template.expansion import Expanded, deployed, template
from tests.template.optional_weakenings import KEY, TOKENS
from tests.template.rules.watching import DAMAGE, emitted

TOPIC = "arn:aws:sns:us-east-1:123456789012:ops"


def test_alarms_go_to_the_topic_if_there_is_one() -> None:
    silent, loud = deployed(), deployed(AlarmTopicArn=TOPIC)

    assert len(list(loud.of("CloudWatch::Alarm"))) > 20
    for name, alarm in loud.of("CloudWatch::Alarm"):
        assert alarm.get("AlarmActions") == [TOPIC], name
        assert alarm.get("OKActions") == (None if alarm["MetricName"] in DAMAGE else [TOPIC]), name
        assert not silent.properties(name).keys() & {"AlarmActions", "OKActions"}, name


def test_audits_run_where_a_schedule_is_given_and_pass_their_units() -> None:
    def scheduled(stack: Expanded) -> list[str]:
        return sorted(name for name in stack.resources if name.startswith("Audit"))

    stack = deployed(AuditSchedule="rate(1 hour)", AuditReadUnits="777")
    (target,) = stack.properties("AuditRule")["Targets"]

    assert scheduled(deployed()) == []
    assert scheduled(stack) == ["AuditInvokePermission", "AuditRetries", "AuditRule"]
    assert stack.properties("AuditRule")["ScheduleExpression"] == "rate(1 hour)"
    assert json.loads(target["Input"]) == {"audits": {"next": {"read_units": 777}}}


def test_settlements_have_a_bucket_and_a_schedule_where_they_are_asked_for() -> None:
    def added(**parameters: str) -> set[str]:
        return deployed(**parameters).resources.keys() - deployed().resources.keys()

    bucket, schedule = {"ResultsBucket", "ResultsBucketOverTlsOnly"}, {"SettleRule", "SettleInvokePermission"}
    assert added(Settlements="true") == bucket
    assert added(Settlements="true", SettleSchedule="rate(1 hour)") == {*bucket, *schedule, "AuditRetries"}
    variables = deployed().properties("MaintenanceFunction")["Environment"]["Variables"]
    assert not variables.keys() & {"RESULTS_BUCKET", "STACK_NAME"}
    assert template()["Outputs"]["ResultsBucketName"]["Condition"] == "PeriodsAreSettled"
    (rule,) = template()["Rules"]["ScheduledSettlementsNeedABucket"]["Assertions"]
    assert rule["Assert"] == {"Fn::Equals": [{"Ref": "Settlements"}, "true"]}


def test_throw_away_stacks_leave_nothing() -> None:
    stack = deployed(DataDeletionPolicy="Delete", Settlements="true")

    for name in ("ScoresTable", "ReceiptsTable", "RankingsTable", "ProfilesTable", "FailureBucket", "ResultsBucket"):
        assert stack.resources[name]["DeletionPolicy"] == "Delete"
    assert [table["DeletionProtectionEnabled"] for _, table in stack.of("DynamoDB::Table")] == [False] * 4


@pytest.mark.parametrize(
    ("parameter", "good", "bad"),
    [
        ("WarmWriteUnits", ["0", "4000", "9999", "100000"], ["1", "3999", "-4000", "4e3", ""]),
        ("WarmReadUnits", ["0", "12000", "19999", "20000", "100000"], ["11999", "4000", "1", ""]),
        ("WriterMaximumConcurrency", ["0", "2", "1000"], ["1", "1001", ""]),
        ("RequestsPerSecond", ["0", "1", "10000"], ["-1", "1e3", ""]),
        ("QueryReservedConcurrency", ["0", "1", "1000"], ["-1", "01", ""]),
        ("AuditSchedule", ["", "rate(1 hour)", "cron(0 3 * * ? *)"], ["1 hour", "rate()", "at(2026-11-22T10:00:00)"]),
        ("SettleSchedule", ["", "rate(1 day)", "cron(0 3 * * ? *)"], ["1 day", "rate()"]),
        ("JwtIssuer", ["", "https://issuer.example/pool"], ["issuer.example", "https://a b"]),
        ("JwtAudience", ["", "a", "a,b"], ["a, b", ",", "a,"]),
        ("JwtMemberClaim", ["", "sub", "cognito:username", "https://a.example/member"], ["my claim", "sub,id"]),
        (
            "CorsOrigins",
            ["", "*", "https://a.example", "https://a.example,http://localhost:8000"],
            ["a.example", "*,", "https://a.example/"],
        ),
        (
            "EmbedOrigins",
            ["", "https://club.example", "https://a.example:8443,http://localhost:8000", "http://127.0.0.1:8000"],
            # Each of these would let more pages show the live page than those of one origin, or end the directive.
            [
                "*",
                "https:",
                "https://*.example",
                "https://a.example/",
                "https://a.example https://b.example",
                "https://a.example;script-src",
                "https://a.example,",
                "http://a.example",
                "a.example",
                "'self'",
                "null",
            ],
        ),
        (
            "KmsKeyArn",
            ["", KEY, KEY.replace("1111", "mrk-")],
            ["alias/mine", KEY.replace(":key/", ":alias/"), KEY + "*"],
        ),
        ("AlarmTopicArn", ["", TOPIC, TOPIC.replace("aws", "aws-cn")], ["ops", TOPIC.replace("sns", "sqs")]),
    ],
)
def test_parameters_are_checked(parameter: str, good: list[str], bad: list[str]) -> None:
    pattern = template()["Parameters"][parameter]["AllowedPattern"]

    assert [value for value in good if not _allows(pattern, value)] == []
    assert [value for value in bad if _allows(pattern, value)] == []


def _allows(pattern: str, value: str) -> bool:
    return re.fullmatch(pattern, value) is not None


def test_every_parameter_is_described_and_in_one_group() -> None:
    parameters = template()["Parameters"]
    groups = template()["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    grouped = [name for group in groups for name in group["Parameters"]]

    assert sorted(grouped) == sorted(parameters)
    assert [name for name, parameter in parameters.items() if not parameter.get("Description")] == []
    assert [name for name, parameter in parameters.items() if "Default" not in parameter] == []
    assert [
        name for name, one in parameters.items() if "AllowedPattern" in one and "ConstraintDescription" not in one
    ] == []


@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ({}, []),
        (TOKENS, []),
        ({**TOKENS, "JwtMemberClaim": "sub"}, []),
        ({**TOKENS, "JwtMemberClaim": "sub", "OpenReads": "true"}, []),
        ({"JwtIssuer": TOKENS["JwtIssuer"]}, ["JwtIssuer is given without JwtAudience"]),
        ({"JwtAudience": "standings"}, ["JwtAudience is given without JwtIssuer"]),
        ({"JwtMemberClaim": "sub"}, ["JwtMemberClaim is given without JwtIssuer"]),
        (
            {**TOKENS, "JwtMemberClaim": "sub", "OpenWrites": "true"},
            ["JwtMemberClaim is given together with OpenWrites, which lets anyone write for any member"],
        ),
    ],
)
def test_half_of_what_tokens_need_is_refused(parameters: dict[str, str], refused: list[str]) -> None:
    """`tests/e2e/tokens/test_jwt.py` shows how a deployment fails."""
    assert [refusal.partition(".")[0] for refusal in deployed(**parameters).refusals] == refused


def test_the_dashboard_shows_every_metric_of_ours_and_is_no_larger_than_its_grid() -> None:
    widgets = json.loads(deployed(Announcements="true").properties("Dashboard")["DashboardBody"])["widgets"]
    shown = {
        (metric[3], metric[1])
        for widget in widgets
        for metric in widget["properties"]["metrics"]
        if metric[0] == "Standings/standings"
    }

    assert shown == {(service, name) for service, names in emitted().items() for name in names}
    places = [(widget["x"], widget["y"]) for widget in widgets]
    assert len(set(places)) == len(places)
    assert all(widget["x"] + widget["width"] <= 24 for widget in widgets)


def test_the_interface_is_there() -> None:
    kinds = {name: resource["Type"] for name, resource in template()["Resources"].items()}

    for name in ("Writer", "Projector", "Query", "Command", "Maintenance"):
        assert kinds[f"{name}Function"] == "AWS::Serverless::Function"
        assert template()["Outputs"][f"{name}FunctionName"]["Value"] == {"Ref": f"{name}Function"}
    assert kinds["StandingsLayer"] == "AWS::Serverless::LayerVersion"
    assert {kinds[f"{name}Table"] for name in ("Scores", "Receipts", "Rankings", "Profiles")} == {
        "AWS::DynamoDB::Table"
    }
    assert {kinds[name] for name in ("ActivityQueue", "ActivityDeadLetterQueue")} == {"AWS::SQS::Queue"}


def test_functions_have_folders_of_their_names() -> None:
    """Alarms find a metric by its service, and the rules find the service's code by its folder."""
    for name, function in template()["Resources"].items():
        if function["Type"] == "AWS::Serverless::Function":
            service = function["Properties"]["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]
            assert Path(function["Properties"]["CodeUri"]).name == service == name.removesuffix("Function").lower()
