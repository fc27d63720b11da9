"""Checks that a stack is deployed as it should be, without changing anything."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property, partial
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from standings.client.errors import NoAnswerError
from standings.domain import zones
from standings.domain.windows import instant
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import FunctionError, InputError


class Verdict(StrEnum):
    """How a check ended. A note is what a parameter or a local AWS explains; only `failed` asks for something."""

    OK = "ok"
    NOTE = "note"
    FAILED = "failed"


class Finding(NamedTuple):
    """What a check found about a part of the stack, and what to do about it."""

    verdict: Verdict
    about: str
    detail: str


ok: Final = partial(Finding, Verdict.OK)
note: Final = partial(Finding, Verdict.NOTE)
failed: Final = partial(Finding, Verdict.FAILED)


def failed_on_aws(deployed: "Deployed", about: str, detail: str) -> Finding:
    """A failure; on a local AWS a note, since a local AWS leaves out parts of the template."""
    if deployed.connection.is_local:
        return note(about, f"a local AWS may leave it out: {detail}")
    return failed(about, detail)


TABLES: Final = ("ScoresTable", "ReceiptsTable", "RankingsTable", "ProfilesTable")
FUNCTIONS: Final = ("WriterFunction", "ProjectorFunction", "QueryFunction", "CommandFunction", "MaintenanceFunction")
ANNOUNCER: Final = "AnnouncerFunction"


@dataclass(frozen=True)
class Deployed:
    """A stack that is deployed, as the checks see it."""

    connection: Connection
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    @cached_property
    def parameters(self) -> Mapping[str, str]:
        """The stack's parameters."""
        described = self.connection.client("cloudformation").describe_stacks(StackName=self.connection.stack)["Stacks"][
            0
        ]
        return {one["ParameterKey"]: one.get("ParameterValue", "") for one in described.get("Parameters", [])}

    @cached_property
    def resources(self) -> Mapping[str, str]:
        """The names of the stack's resources, by logical id."""
        lists = self.connection.client("cloudformation").get_paginator("list_stack_resources")
        pages = lists.paginate(StackName=self.connection.stack)
        found = [one for page in pages for one in page["StackResourceSummaries"]]
        return {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in found if "PhysicalResourceId" in one}

    @cached_property
    def runtime(self) -> Mapping[str, Any]:
        """What the functions run on, such as `{"botocore": "1.44.5", "time_zones": "2026f", …}`."""
        (answer,) = self.connection.maintenance.answers("runtime", {})
        return answer

    @property
    def functions(self) -> Sequence[str]:
        """The logical ids of the stack's functions."""
        return (*FUNCTIONS, ANNOUNCER) if ANNOUNCER in self.resources else FUNCTIONS

    @cached_property
    def tables(self) -> Mapping[str, Mapping[str, Any]]:
        """The descriptions of the tables, by logical id."""
        client = self.connection.client("dynamodb")
        return {name: client.describe_table(TableName=self.resources[name])["Table"] for name in TABLES}

    def parameter(self, name: str) -> str:
        """A parameter's value; "" if an older template has none of this name."""
        return self.parameters.get(name, "")


_VIEW: Final = "NEW_AND_OLD_IMAGES"


def mappings(deployed: Deployed) -> Iterator[Finding]:
    """All event source mappings are enabled, read the right source, and have no problem with it."""
    yield _mapping(deployed, "WriterFunction", _queue(deployed, "ActivityQueue"))
    stream = deployed.tables["ScoresTable"].get("LatestStreamArn", "no stream")
    yield _mapping(deployed, "ProjectorFunction", stream)
    if ANNOUNCER in deployed.functions:
        yield _mapping(deployed, ANNOUNCER, _queue(deployed, "LooksQueue"))


def recursion(deployed: Deployed) -> Iterator[Finding]:
    """Lambda allows the announcer's loop: it queues its own next look."""
    if ANNOUNCER not in deployed.functions:
        return
    about, name = "the announcer's loop", deployed.resources[ANNOUNCER]
    found = deployed.connection.client("lambda").get_function_recursion_config(FunctionName=name)["RecursiveLoop"]
    detail = f"expected RecursiveLoop Allow, got {found}: Lambda drops looks: deploy again"
    yield ok(about, "allowed") if found == "Allow" else failed_on_aws(deployed, about, detail)


def _messages(deployed: Deployed, queue: str) -> int:
    """About how many messages a queue has, also those that somebody reads just now."""
    asked = {"QueueUrl": deployed.resources[queue], "AttributeNames": list(_IN_QUEUE)}
    counts = deployed.connection.client("sqs").get_queue_attributes(**asked)["Attributes"]
    return sum(int(counts[name]) for name in _IN_QUEUE)


def _queue(deployed: Deployed, name: str) -> str:
    asked = {"QueueUrl": deployed.resources[name], "AttributeNames": ["QueueArn"]}
    return str(deployed.connection.client("sqs").get_queue_attributes(**asked)["Attributes"]["QueueArn"])


def _mapping(deployed: Deployed, function: str, source: str) -> Finding:
    about = f"{function} reads its source"
    answer = deployed.connection.client("lambda").list_event_source_mappings(FunctionName=deployed.resources[function])
    found: list[dict[str, Any]] = answer["EventSourceMappings"]
    mapping = next((one for one in found if one["EventSourceArn"] == source), None)
    if mapping is None:
        sources = ", ".join(one["EventSourceArn"] for one in found) or "nothing"
        return failed(about, f"expected a mapping of {source}, got {sources}: deploy again")
    if mapping["State"] != "Enabled":
        advice = f"run `aws lambda update-event-source-mapping --uuid {mapping['UUID']} --enabled`"
        return failed(about, f"expected the mapping to be Enabled, got {mapping['State']}: {advice}")
    result = mapping.get("LastProcessingResult", "")
    if result.startswith("PROBLEM"):
        return failed(about, f"Lambda cannot read {source}: {result}")
    return ok(about, f"enabled, {result.lower() or 'nothing read yet'}")


def stream(deployed: Deployed) -> Iterator[Finding]:
    """The stream of Scores has old and new images."""
    about = "the stream of Scores"
    found = deployed.tables["ScoresTable"].get("StreamSpecification", {})
    if not found.get("StreamEnabled"):
        yield failed(about, "the table has no stream, so no rank changes: deploy again")
    elif found.get("StreamViewType") != _VIEW:
        yield failed(about, f"expected {_VIEW}, got {found.get('StreamViewType')}: the projector needs both images")
    else:
        yield ok(about, _VIEW)


_EXPIRY: Final = "e"
_BACKED_UP: Final = ("ScoresTable", "ReceiptsTable", "ProfilesTable")
_RANKED: Final = tuple(name for name in TABLES if name != "ProfilesTable")  # Profiles neither expire nor are warm
_INDEXES: Final = (
    ("RankingsTable", "places", "the sorted index of Rankings", "lists are not whole until it is"),
    ("ScoresTable", "boards", "the index of members' boards", "`member boards` has no answer until it is"),
)
_WARM: Final = {"WarmWriteUnits": "WriteUnitsPerSecond"}


def expiry(deployed: Deployed) -> Iterator[Finding]:
    """Items expire in every table but Profiles."""
    client = deployed.connection.client("dynamodb")
    for name in _RANKED:
        about = f"expiry of {name}"
        found = client.describe_time_to_live(TableName=deployed.resources[name])["TimeToLiveDescription"]
        state, attribute = found.get("TimeToLiveStatus", "DISABLED"), found.get("AttributeName")
        is_on = state in {"ENABLED", "ENABLING"} and attribute == _EXPIRY
        detail = f"expected {_EXPIRY} to be enabled, got {attribute} {state}: the table grows for ever"
        yield ok(about, state.lower()) if is_on else failed_on_aws(deployed, about, detail)


def backups(deployed: Deployed) -> Iterator[Finding]:
    """Scores, receipts and profiles can be restored to any second."""
    client = deployed.connection.client("dynamodb")
    for name in _BACKED_UP:
        about = f"point-in-time recovery of {name}"
        found = client.describe_continuous_backups(TableName=deployed.resources[name])["ContinuousBackupsDescription"]
        state = found.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus", "DISABLED")
        detail = f"expected ENABLED, got {state}: deploy again, or what is lost stays lost"
        yield ok(about, "enabled") if state == "ENABLED" else failed_on_aws(deployed, about, detail)


def protection(deployed: Deployed) -> Iterator[Finding]:
    """DynamoDB refuses to delete the tables."""
    about = "protection of the tables against deletion"
    wanted = deployed.parameter("DeletionProtection") == "true"
    without = [name for name in TABLES if not deployed.tables[name].get("DeletionProtectionEnabled")]
    if not without:
        yield ok(about, "all are protected")
    elif wanted:
        yield failed(about, f"DeletionProtection is true, but {', '.join(without)} can be deleted: deploy again")
    else:
        yield note(about, "anyone with the permission can delete them: deploy with DeletionProtection=true")


def index(deployed: Deployed) -> Iterator[Finding]:
    """The indexes of Rankings and Scores are there and in use."""
    for table, index, about, until in _INDEXES:
        indexes = {one["IndexName"]: one for one in deployed.tables[table].get("GlobalSecondaryIndexes", [])}
        if index not in indexes:
            yield failed(about, f"expected an index {index}, got {', '.join(indexes) or 'none'}: deploy again")
        elif (state := indexes[index].get("IndexStatus", "ACTIVE")) != "ACTIVE":
            yield failed(about, f"expected ACTIVE, got {state}: {until}")
        else:
            yield ok(about, "active")


def warm_throughput(deployed: Deployed) -> Iterator[Finding]:
    """The tables and the index take at once what the parameters ask for."""
    about = "warm throughput"
    wanted = {unit: int(deployed.parameter(name) or 0) for name, unit in _WARM.items()}
    if not any(wanted.values()):
        yield note(about, "left to DynamoDB; before a known rush, set WarmWriteUnits")
        return
    for name in _RANKED:
        table = deployed.tables[name]
        for part in (table, *table.get("GlobalSecondaryIndexes", [])):
            found = part.get("WarmThroughput", {})
            less = {unit: units for unit, units in wanted.items() if units and found.get(unit, 0) < units}
            where = part.get("IndexName", name)
            for unit, units in less.items():
                got = f"{found.get(unit, 0):,} {unit} of {where}, expected {units:,}"
                yield failed_on_aws(deployed, about, f"{got}: it may still be warming up, look again in an hour")
            if not less:
                units_of = ", ".join(f"{units:,} {unit}" for unit, units in wanted.items() if units)
                yield ok(f"{about} of {where}", units_of)


_STREAM_SHARDS: Final = 4  # Of a new table; each has projectors of its own
_FOR_READS: Final = 10
_LEAST_BOTOCORE: Final = (1, 35)  # The first that knows the condition If-None-Match of S3, which seals a settled period


def runtimes(deployed: Deployed) -> Iterator[Finding]:
    """Every function has the layer, and the layer is for the function's runtime and processor."""
    client = deployed.connection.client("lambda")
    layers: dict[str, dict[str, Any]] = {}
    for name in deployed.functions:
        about = f"runtime of {name}"
        found = client.get_function_configuration(FunctionName=deployed.resources[name])
        runtime, (processor, *_) = found["Runtime"], found.get("Architectures", ["x86_64"])
        arns = [layer["Arn"] for layer in found.get("Layers", [])]
        if not arns:
            yield failed(about, "expected the layer with the package standings, got none: run sam build and sam deploy")
            continue
        layer = layers.setdefault(arns[0], client.get_layer_version_by_arn(Arn=arns[0]))
        fits = runtime in layer.get("CompatibleRuntimes", [runtime])
        if not fits or processor not in layer.get("CompatibleArchitectures", [processor]):
            built = (*layer.get("CompatibleRuntimes", ()), *layer.get("CompatibleArchitectures", ()))
            advice = "give sam build and sam deploy the same PythonRuntime and Architecture"
            yield failed(about, f"{runtime} on {processor}, but the layer was built for {', '.join(built)}: {advice}")
        else:
            yield ok(about, f"{runtime} on {processor}, as the layer")


def botocore(deployed: Deployed) -> Iterator[Finding]:
    """The runtime's botocore, which AWS chooses, knows every call of the functions."""
    about = "botocore of the runtime"
    version = str(deployed.runtime["botocore"])
    if tuple(int(part) for part in version.split(".")[:2]) < _LEAST_BOTOCORE:
        least = ".".join(map(str, _LEAST_BOTOCORE))
        yield failed(about, f"expected {least} or later, got {version}: deploy with a newer PythonRuntime")
    else:
        urllib3 = deployed.runtime.get("urllib3", "of a version that the stack does not name")
        yield ok(about, f"{version} with urllib3 {urllib3}, on Python {deployed.runtime['python']}")


def bytecode(deployed: Deployed) -> Iterator[Finding]:
    """The runtime's SDK, which AWS chooses, is compiled."""
    about, compiled = "bytecode of the runtime's SDK", deployed.runtime.get("sdk_compiled")
    if compiled:
        yield ok(about, "botocore is compiled")
    elif compiled is None:
        yield note(about, "this stack does not look: deploy a newer version")
    else:
        costs = "each cold start compiles what it imports of botocore, and takes up to half as long again"
        yield note(
            about, f"botocore is not compiled: {costs}. A later runtime of AWS, or another PythonRuntime, may help"
        )


def dynamodb_client(deployed: Deployed) -> Iterator[Finding]:
    """The functions send their requests to DynamoDB by the client that the parameter `DynamoDBClient` names."""
    about, client = "client of DynamoDB", deployed.runtime.get("dynamodb_client")
    if client is None:
        yield note(about, "this stack does not say: deploy a newer version")
    elif client == deployed.parameter("DynamoDBClient"):
        yield ok(about, client)
    else:
        why = "the environment asks for what only the SDK's client obeys, such as a proxy, or has no credentials"
        yield note(about, f"{client}: {why}. Starts and reads take twice as long")


def time_zones(deployed: Deployed) -> Iterator[Finding]:
    """Days begin by the same version of the time zones in the stack and in this command line."""
    about, here, found = "version of the time zones", zones.VERSION, deployed.runtime.get("time_zones")
    if found == here:
        yield ok(about, f"{found}, in the stack and here")
    elif found is None:
        yield failed(about, f"expected {here}, as here, got those of AWS's machines: deploy a newer version")
    else:
        advice = "deploy the version of this command line, or install that of the stack"
        yield failed(about, f"expected {here}, as here, got {found}: days may begin at other instants: {advice}")


def concurrency(deployed: Deployed) -> Iterator[Finding]:
    """The account lets the writers and projectors run that the parameters allow, and leaves room for reads.

    What is reserved for a function is not part of what the account has left.
    """
    about = "functions that may run at once"
    needs = {
        "Writer": int(deployed.parameter("WriterMaximumConcurrency") or 0),
        "Projector": _STREAM_SHARDS * int(deployed.parameter("ProjectorParallelizationFactor") or 1),
        "Query": _FOR_READS,
    }
    shared = {
        name: need for name, need in needs.items() if not int(deployed.parameter(f"{name}ReservedConcurrency") or 0)
    }
    needed = sum(shared.values())
    found = deployed.connection.client("lambda").get_account_settings()["AccountLimit"][
        "UnreservedConcurrentExecutions"
    ]
    parts = ", ".join(f"{need} of {name}Function" for name, need in shared.items() if need)
    if found < needed:
        yield failed(about, f"the account allows {found:,}, expected {needed:,}, {parts}: ask AWS for more")
    elif shared.get("Writer") == 0:
        yield note(about, f"{found:,}; WriterMaximumConcurrency is 0, so a backlog may take all of them")
    else:
        yield ok(about, f"the account allows {found:,}, {needed:,} are needed")


def signatures(deployed: Deployed) -> Iterator[Finding]:
    """The API refuses a request without a signature or a token, unless the parameters open it."""
    unsigned = deployed.connection.unsigned
    # A post of nothing is answered 400 where it is let in, and nothing is written.
    reads, writes = unsigned("GET", "boards"), unsigned("POST", "events")
    for about, status, parameter in (("reads", reads, "OpenReads"), ("writes", writes, "OpenWrites")):
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            yield ok(f"unsigned {about}", f"refused with {status}")
        elif deployed.parameter(parameter) == "true":
            yield note(f"unsigned {about}", f"open to anyone: {parameter} is true")
        else:
            detail = f"expected 401 or 403, got {status}: deploy again with {parameter}=false"
            yield failed_on_aws(deployed, f"unsigned {about}", detail)


_AUTH_TYPES: Final = {"iam": ["AWS_IAM"], "open": ["NONE"]}
_FOR_ANYONE: Final = [
    {"action": "lambda:InvokeFunction", "Bool": {"lambda:InvokedViaFunctionUrl": "true"}},
    {"action": "lambda:InvokeFunctionUrl", "StringEquals": {"lambda:FunctionUrlAuthType": "NONE"}},
]
"""What an open function URL allows anyone. Without its condition the first would allow any invocation."""


def function_url(deployed: Deployed) -> Iterator[Finding]:
    """The query function has the address that `FunctionUrl` says or none, for exactly those whom it says."""
    about, chosen = "the function URL", deployed.parameter("FunctionUrl") or "none"
    client, name = deployed.connection.client("lambda"), deployed.resources["QueryFunction"]
    urls, wanted = (
        client.list_function_url_configs(FunctionName=name)["FunctionUrlConfigs"],
        _AUTH_TYPES.get(chosen, []),
    )
    if (types := [one["AuthType"] for one in urls]) != wanted:
        expected, got = (", ".join(one) or "none" for one in (wanted, types))
        advice = "deploy again" if wanted else f"`aws lambda delete-function-url-config --function-name {name}`"
        yield failed(about, f"FunctionUrl is {chosen}: expected {expected}, got {got}: {advice}")
        return
    allowed = _FOR_ANYONE if chosen == "open" else []
    if (grants := _for_anyone(client.get_policy(FunctionName=name)["Policy"])) != allowed:
        detail = f"FunctionUrl is {chosen}: expected that anyone may {_shown(allowed)}, got {_shown(grants)}"
        yield failed(about, f"{detail}: deploy again, and remove what is left with `aws lambda remove-permission`")
    elif wanted:
        yield _at_the_url(deployed, about, chosen)
    else:
        yield ok(about, "none, and no grant to anyone")


def _for_anyone(policy: str) -> list[dict[str, Any]]:
    """What a function's policy allows anyone: each action with its conditions."""
    statements = [one for one in json.loads(policy)["Statement"] if one["Principal"] in ("*", {"AWS": "*"})]
    return sorted(({"action": one["Action"], **one.get("Condition", {})} for one in statements), key=str)


def _shown(grants: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(grants) if grants else "do nothing"


def _at_the_url(deployed: Deployed, about: str, chosen: str) -> Finding:
    """Whether the address refuses who has no signature, or answers anyone."""
    connection = deployed.connection
    unsigned = connection.unsigned("GET", "boards", connection.function_url)
    if chosen == "open" and unsigned == HTTPStatus.OK:
        return note(about, "open to anyone: FunctionUrl is open")
    if chosen == "open":
        return failed(about, f"expected 200 for a read without a signature, got {unsigned}: deploy again")
    if unsigned not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return failed(about, f"expected 401 or 403 for a read without a signature, got {unsigned}: deploy again")
    signed = connection.signed_read("boards")
    if signed == HTTPStatus.OK:
        return ok(about, f"answers signed reads, and refuses others with {unsigned}")
    told = f"refuses unsigned reads with {unsigned}, and these credentials with {signed}"
    return note(about, f"{told}: the policy of the output FunctionUrlPolicyArn lets a role read there")


_FIRST_POLLS: Final = timedelta(minutes=20)
_IN_QUEUE: Final = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
_MANY: Final = 1_000  # Messages that are more than a moment's work
_LONG_RUN: Final = timedelta(hours=1)
_LONGEST_CRON: Final = timedelta(days=63)


def alarms(deployed: Deployed) -> Iterator[Finding]:
    """All alarms are there, none rings, and they go to the topic."""
    pages = (
        deployed.connection.client("cloudwatch").get_paginator("describe_alarms").paginate(AlarmTypes=["MetricAlarm"])
    )
    ours = {name: logical for logical, name in deployed.resources.items() if logical.endswith("Alarm")}
    every = {alarm["AlarmName"]: alarm for page in pages for alarm in page["MetricAlarms"]}
    found = {logical: every[name] for name, logical in ours.items() if name in every}
    missing = sorted(set(ours.values()) - found.keys())
    ringing = sorted(name for name, alarm in found.items() if alarm.get("StateValue") == "ALARM")
    fresh = [name for name in ringing if name.endswith("NotPolledAlarm") and _age(deployed, found[name]) < _FIRST_POLLS]
    if missing or not ours:
        yield failed("alarms", f"gone: {', '.join(missing) or 'all of them'}: deploy again")
    elif set(ringing) - set(fresh):
        yield failed("alarms", f"ringing: {', '.join(ringing)}: docs/how-to/alarms.md says what to do")
    elif fresh:
        text = f"{', '.join(fresh)}: new, and ringing until Lambda polls for the first time: look again in 20 minutes"
        yield note("alarms", text)
    else:
        yield ok("alarms", f"none of {len(found)} rings")
    yield _topic(deployed.parameter("AlarmTopicArn"), found)


def _age(deployed: Deployed, alarm: Mapping[str, Any]) -> timedelta:
    changed = alarm.get("AlarmConfigurationUpdatedTimestamp")
    return timedelta.max if changed is None else deployed.now() - changed


def _topic(topic: str, found: Mapping[str, Mapping[str, Any]]) -> Finding:
    about = "topic of the alarms"
    if not topic:
        return note(about, "they notify nobody: deploy with AlarmTopicArn, an SNS topic of yours")
    if silent := sorted(name for name, alarm in found.items() if not alarm.get("AlarmActions")):
        return failed(about, f"without an action: {', '.join(silent)}: deploy again")
    if disabled := sorted(name for name, alarm in found.items() if not alarm.get("ActionsEnabled", True)):
        return failed(about, f"actions are disabled: {', '.join(disabled)}: `aws cloudwatch enable-alarm-actions`")
    if others := sorted(name for name, alarm in found.items() if topic not in alarm["AlarmActions"]):
        return failed(about, f"expected {topic}, got another one for {', '.join(others)}: deploy again")
    return ok(about, topic)


def waiting(deployed: Deployed) -> Iterator[Finding]:
    """How many messages wait for the writer, or are with it. Any number may be right: only many are a note."""
    about, count = "messages in the queue", _messages(deployed, "ActivityQueue")
    if count < _MANY or deployed.connection.is_local:  # The notes of a local AWS are those that any has
        yield ok(about, f"{count:,} wait for the writer" if count else "none waits")
    else:
        yield note(about, f"{count:,} wait for the writer: look again whether they get fewer (docs/how-to/alarms.md)")


def refused(deployed: Deployed) -> Iterator[Finding]:
    """The dead-letter queue is empty. Messages that somebody reads just now, and are hidden, count too."""
    about = "refused messages"
    if count := _messages(deployed, "ActivityDeadLetterQueue"):
        yield failed(about, f"there are {count:,}: `standings dlq list` shows them with their reasons")
    else:
        yield _none_left(deployed, "dead_letters", about, "standings dlq list")


def parked(deployed: Deployed) -> Iterator[Finding]:
    """No record of the stream is parked."""
    yield _none_left(deployed, "parked", "parked records", "standings parked list")


def audits(deployed: Deployed) -> Iterator[Finding]:
    """Audits run as scheduled; those of this turn and the one before found no difference and left no board out."""
    about = "scheduled audits"
    schedule = deployed.parameter("AuditSchedule")
    if not schedule:
        yield note(about, "none, so drift shows only on request: deploy with AuditSchedule, such as 'rate(1 hour)'")
        return
    (answer,) = deployed.connection.maintenance.answers("audits", {}, "show")
    turns = [turn for turn in (answer["turn"], answer["last"]) if turn is not None]
    left_out = sorted({board for turn in turns for board in turn["failed"]})
    if not turns:
        yield note(about, "none has run yet")
    elif deployed.now() - datetime.fromtimestamp(answer["ran_at"] / 1000, UTC) > _overdue(schedule):
        ran = f"the last run was at {instant(answer['ran_at'])}, with the schedule {schedule}"
        yield failed(about, f"{ran}: is its rule enabled? deploy again")
    elif left_out:
        yield failed(about, f"left out {', '.join(left_out)}: the log of the maintenance function says why")
    elif drift := sum(turn["drift"] for turn in turns):
        since = instant(turns[-1]["since"])
        yield failed(about, f"{drift} differences since {since}: `standings audit` shows what is left")
    else:
        yield ok(about, f"no difference; the last run was at {instant(answer['ran_at'])}")


def _overdue(schedule: str) -> timedelta:
    """How long ago the last run may be: two periods of a rate, with time for a long run. A cron may be monthly."""
    rate = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", schedule)
    return 2 * timedelta(**{f"{rate[2]}s": int(rate[1])}) + _LONG_RUN if rate else _LONGEST_CRON


def settlements(deployed: Deployed) -> Iterator[Finding]:
    """Where a family of boards settles its periods, the stack can."""
    finding, families = _enabled(deployed, "settled periods", "settlements", "settles")
    if finding.verdict == Verdict.OK and families and not deployed.parameter("SettleSchedule"):
        finding = note(
            finding.about, "they are settled only on request: deploy with SettleSchedule, such as 'rate(1 hour)'"
        )
    yield finding


def announcements(deployed: Deployed) -> Iterator[Finding]:
    """Where a family of boards announces its tops, the stack can."""
    finding, _ = _enabled(deployed, "announced tops", "announcements", "announces")
    yield finding


def _enabled(deployed: Deployed, about: str, task: str, does: str) -> tuple[Finding, str]:
    """Whether the stack does what `boards.toml` needs, and the families that need it."""
    (answer,) = deployed.connection.maintenance.answers(task, {}, "show")
    families = ", ".join(answer["families"])
    if families and not answer[does]:
        asked = f"boards.toml {does} those of {families}, but the stack cannot"
        return failed(about, f"{asked}: set {task.capitalize()}=true"), families
    return ok(about, f"those of {families}" if families else f"boards.toml {does} none"), families


def _none_left(deployed: Deployed, task: str, about: str, command: str) -> Finding:
    (answer,) = deployed.connection.maintenance.answers(task, {"limit": 1}, "list")
    if answer.get("messages") or answer.get("objects"):
        return failed(about, f"there are some: `{command}` shows them with their reasons")
    return ok(about, "none")


Check = Callable[[Deployed], Iterator[Finding]]
CHECKS: Final[tuple[Check, ...]] = (
    mappings,
    recursion,
    stream,
    expiry,
    backups,
    protection,
    index,
    warm_throughput,
    runtimes,
    botocore,
    bytecode,
    dynamodb_client,
    time_zones,
    concurrency,
    signatures,
    function_url,
    alarms,
    waiting,
    refused,
    parked,
    audits,
    settlements,
    announcements,
)


def run_checks(deployed: Deployed) -> Iterator[Finding]:
    """Run every check. One that cannot look is a finding as well, and holds up no other."""
    for check in CHECKS:
        about = check.__name__
        try:
            yield from check(deployed)
        except (ClientError, BotoCoreError, FunctionError, InputError, NoAnswerError) as error:
            is_local = deployed.connection.is_local
            yield (
                note(about, f"a local AWS cannot answer: {error}")
                if is_local
                else failed(about, f"could not look: {error}")
            )
        except KeyError as error:
            yield failed(about, f"the stack has no {error}: is it a stack of Standings, completely deployed?")
