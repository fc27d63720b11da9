"""`doctor`: check that a stack is deployed as it should be, prove its ranks, and save what AWS answers."""

import argparse
import json
import re
from collections.abc import Callable, Iterator
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
from standings_cli.terminal import DIFFERS, OK, as_json, say, shown


def add(commands: Commands) -> None:
    """Add `doctor`."""
    parser = commands.add(
        "doctor",
        description="Check that the stack is deployed as it should be, without changing anything. Each check says "
        "ok, note or failed; a note is what a parameter or a local AWS explains. With --exercise, also post some 2,000 "
        "events to a board of its own, compare every rank with a sort, and delete the board.",
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
    counts = dict.fromkeys(Verdict, 0)
    for finding in _findings(connection, options):
        counts[finding.verdict] += 1
        if options.json:
            print(as_json(finding._asdict()), flush=True)
        else:
            print(f"{finding.verdict:<6}  {shown(finding.about)}: {shown(finding.detail)}", flush=True)
    if not options.json:
        print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return DIFFERS if counts[Verdict.FAILED] else OK


def _findings(connection: Connection, options: argparse.Namespace) -> Iterator[Finding]:
    deployed = Deployed(connection, now)
    recording = Recording(deployed, options.record) if options.record else None
    yield from run_checks(deployed)
    if recording:
        yield from recording.of_stack()
    if not options.exercise:
        return
    say("standings: one event is refused on purpose, so the alarm on dead letters may ring")
    board = options.board or f"doctor-{token_hex(4)}"
    tools = Tools(connection, now, Random(board))  # noqa: S311 - not for secrets
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


@dataclass(frozen=True, slots=True)
class Recording:
    """Saves shapes of a stack as JSON files in a directory. Only the data of an exercise's board is in them."""

    deployed: Deployed
    directory: Path
    _iterators: list[str] = field(default_factory=list)

    def of_stack(self) -> Iterator[Finding]:
        """Save how tables, functions and event source mappings are described, and which errors writes can meet.

        The writes for it have conditions that never hold, so they change nothing.
        """
        yield from self._save("tables", lambda: self.deployed.tables)
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
        return {"configuration": configuration, "mappings": mappings["EventSourceMappings"]}

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
        return [message for message in answer.get("Messages", []) if json.dumps(board) in message["Body"]]


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
