"""`doctor`: check that a stack is deployed as it should be, prove its ranks, and save what AWS answers."""

import argparse
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from secrets import token_hex
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from standings_cli.commands import values
from standings_cli.commands.options import Commands
from standings_cli.doctor.checks import Deployed, Finding, Verdict, note, ok, run_checks
from standings_cli.doctor.exercise import Tools, exercise
from standings_cli.stack.connection import Connection
from standings_cli.terminal import DIFFERS, OK, Working, as_json, say, shown


def add(commands: Commands) -> None:
    """Add `doctor`."""
    parser = commands.add(
        "doctor",
        description="Check that the stack is deployed as it should be, without changing anything. Each check says "
        "ok, note or failed; what failed comes first. A note is what a parameter or a local AWS explains. With "
        "--exercise, also post some 2,000 events to a board of its own, compare every rank with a sort, and delete "
        "the board.",
    )
    parser.add_argument("--exercise", action="store_true", help="prove the ranks on a throw-away board")
    parser.add_argument(
        "--board", type=values.board, help="the board to exercise: one without members, whose rules are used (doctor-…)"
    )
    parser.add_argument(
        "--record",
        type=values.path,
        metavar="DIR",
        help="save what AWS answers in this directory, without account numbers",
    )
    parser.set_defaults(do=_doctor, resumes=False)


def _doctor(connection: Connection, options: argparse.Namespace) -> int:
    if options.exercise:
        say("standings: one event is refused on purpose, so the alarm on dead letters may ring")
    working, found = Working("doctor"), list[Finding]()
    findings = _findings(connection, options, working)
    try:
        while True:
            with working:
                finding = next(findings, None)
            if finding is None:
                break
            found.append(finding)
            working.text = f"{len(found)} checks, the last one: {finding.about}"
            if options.json:
                print(as_json(finding._asdict()), flush=True)
    finally:  # Also of a run that somebody ends, or that cannot go on
        for verdict, about, detail in () if options.json else _in_order(found, is_local=connection.is_local):
            print(f"{verdict:<6}  {shown(about)}: {shown(detail)}")
    counts = {verdict: sum(finding.verdict == verdict for finding in found) for verdict in Verdict}
    if not options.json:
        print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return DIFFERS if counts[Verdict.FAILED] else OK


def _in_order(findings: Sequence[Finding], *, is_local: bool) -> Iterator[Finding]:
    """Yield what failed, then notes, then what is ok. The notes of a local stack are one."""
    of = {verdict: [finding for finding in findings if finding.verdict == verdict] for verdict in Verdict}
    notes = of[Verdict.NOTE]
    if is_local and notes:
        about = ", ".join(dict.fromkeys(finding.about for finding in notes))
        notes = [note("as on any local stack", f"{about} (--json has each)")]
    yield from (*of[Verdict.FAILED], *notes, *of[Verdict.OK])


def _findings(connection: Connection, options: argparse.Namespace, working: Working) -> Iterator[Finding]:
    deployed = Deployed(connection, now)
    recording = Recording(deployed, options.record) if options.record else None
    yield from run_checks(deployed)
    if recording:
        yield from recording.of_stack()
    if not options.exercise:
        return
    board = options.board or f"doctor-{token_hex(4)}"
    progress = partial(setattr, working, "text")
    tools = Tools(connection, now, Random(board), say=progress)  # noqa: S311 - not for secrets
    if recording:
        yield from recording.watch()
        yield from exercise(tools, board, recording.of_board)
    else:
        yield from exercise(tools, board)


def now() -> datetime:
    """The time of this machine."""
    return datetime.now(UTC)


# An account number stands by itself in ARNs, in addresses of queues, and in the names of sam's buckets.
_ACCOUNT: Final = re.compile(r"(?<![0-9A-Za-z])[0-9]{12}(?![0-9A-Za-z])")
_EXAMPLE: Final = "123456789012"  # AWS's own in its documentation
_NOBODY: Final = {"pk": {"S": "#doctor"}, "sk": {"S": "#doctor"}}
_SOMEBODY: Final = {"pk": {"S": "#doctor"}, "sk": {"S": "#other"}}
_MOST_LETTERS: Final = 10
_MOST_PAGES: Final = 20
_OF_SENDER: Final = frozenset({"SenderId", "AWSTraceHeader"})


@dataclass(frozen=True, slots=True)
class Recording:
    """Saves shapes of a stack as JSON files in a directory. Only the data of an exercise's board is in them."""

    deployed: Deployed
    directory: Path
    _iterators: list[str] = field(default_factory=list)

    def of_stack(self) -> Iterator[Finding]:
        """Save how tables, functions, mappings and the function URL are described, and which errors writes can meet.

        The writes for it have conditions that never hold, so they change nothing.
        """
        yield from self._save("runtime", lambda: self.deployed.runtime)
        yield from self._save("tables", lambda: self.deployed.tables)
        yield from self._save("function-url", self._function_url)
        for function in self.deployed.functions:
            yield from self._save(function, partial(self._function, function))
        for name, request in _failing(self.deployed.resources["ScoresTable"]).items():
            yield from self._save(name, partial(self._error, *request))

    def watch(self) -> Iterator[Finding]:
        """Store where the stream ends, before the board of an exercise has events."""
        client = self.deployed.connection.client("dynamodbstreams")
        stream = self.deployed.tables["ScoresTable"]["LatestStreamArn"]
        try:
            for shard in client.describe_stream(StreamArn=stream)["StreamDescription"]["Shards"]:
                asked = {"StreamArn": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "LATEST"}
                self._iterators.append(client.get_shard_iterator(**asked)["ShardIterator"])
        except (ClientError, BotoCoreError) as error:
            yield note("record of stream-records", f"AWS did not let it be read: {error}")

    def of_board(self, board: str) -> Iterator[Finding]:
        """Save a board's records in the stream, and its messages in the dead-letter queue."""
        yield from self._save("stream-records", partial(self._records, board))
        yield from self._save("dead-letters", partial(self._letters, board))

    def _save(self, name: str, shape: Callable[[], Any]) -> Iterator[Finding]:
        about = f"record of {name}"
        try:
            content = shape()
        except (ClientError, BotoCoreError) as error:
            yield note(about, f"AWS did not let it be read: {error}")
            return
        path = self.directory / f"{name}.json"
        self.directory.mkdir(parents=True, exist_ok=True)
        path.write_text(without_account(content), encoding="utf-8")
        yield ok(about, str(path))

    def _function(self, name: str) -> Any:
        client, function = self.deployed.connection.client("lambda"), self.deployed.resources[name]
        configuration = _body(client.get_function_configuration(FunctionName=function))
        mappings = _body(client.list_event_source_mappings(FunctionName=function))
        # Of variables only the names: they say what is set, and a value may be anything.
        variables = configuration.pop("Environment", {}).get("Variables", {})
        mappings = mappings["EventSourceMappings"]
        return {"configuration": configuration, "variables": sorted(variables), "mappings": mappings}

    def _function_url(self) -> Any:
        client, function = self.deployed.connection.client("lambda"), self.deployed.resources["QueryFunction"]
        configs = client.list_function_url_configs(FunctionName=function)["FunctionUrlConfigs"]
        grants = json.loads(client.get_policy(FunctionName=function)["Policy"])["Statement"] if configs else []
        return {"configs": configs, "grants": grants}

    def _error(self, operation: str, request: dict[str, Any]) -> Any:
        try:
            return _body(getattr(self.deployed.connection.client("dynamodb"), operation)(**request))
        except ClientError as error:
            status = error.response["ResponseMetadata"].get("HTTPStatusCode")
            return {"operation": operation, "request": request, "status": status, "response": _body(error.response)}

    def _records(self, board: str) -> list[Any]:
        client = self.deployed.connection.client("dynamodbstreams")
        found: list[Any] = []
        for first in self._iterators:
            iterator = first
            for _ in range(_MOST_PAGES):
                answer = client.get_records(ShardIterator=iterator)
                keys = [(record["dynamodb"]["Keys"]["pk"]["S"], record) for record in answer["Records"]]
                found += [record for key, record in keys if key.startswith(f"{board}#")]
                if "NextShardIterator" not in answer:  # the shard is closed
                    break
                iterator = answer["NextShardIterator"]
        return found

    def _letters(self, board: str) -> list[Any]:
        answer = self.deployed.connection.client("sqs").receive_message(
            QueueUrl=self.deployed.resources["ActivityDeadLetterQueue"],
            MaxNumberOfMessages=_MOST_LETTERS,
            VisibilityTimeout=0,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        ours = (message for message in answer.get("Messages", []) if json.dumps(board) in message["Body"])
        return [_without_sender(message) for message in ours]


def _without_sender(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without who sent it, and without the handle that deletes it."""
    attributes = {name: value for name, value in message.get("Attributes", {}).items() if name not in _OF_SENDER}
    return {name: value for name, value in message.items() if name != "ReceiptHandle"} | {"Attributes": attributes}


def without_account(content: Any) -> str:
    """Return JSON with the account number of AWS's documentation in place of any other."""
    return _ACCOUNT.sub(_EXAMPLE, json.dumps(content, indent=2, sort_keys=True, default=str)) + "\n"


def _failing(scores: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Writes that DynamoDB refuses: an operation and a request for each name."""
    missing = {"TableName": scores, "Key": _NOBODY, "ConditionExpression": "attribute_exists(pk)"}
    holds = {"TableName": scores, "Key": _SOMEBODY, "ConditionExpression": "attribute_not_exists(pk)"}
    checks = [{"ConditionCheck": missing}, {"ConditionCheck": holds}]
    return {
        "condition": ("delete_item", missing),
        "cancelled-transaction": ("transact_write_items", {"TransactItems": checks}),
        "invalid-transaction": ("transact_write_items", {"TransactItems": [{"ConditionCheck": missing}] * 2}),
    }


def _body(answer: Any) -> Any:
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}
