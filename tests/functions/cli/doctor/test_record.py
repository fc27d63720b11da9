"""What `standings doctor --record` saves: what AWS answers, and nobody's account number or activity."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
from botocore.exceptions import ClientError

from standings_cli.doctor.deployed import FUNCTIONS, Deployed
from standings_cli.doctor.finding import Verdict
from standings_cli.doctor.recording import Recording, without_account
from tests.support.builders.checks import rows

ACCOUNT: Final = "210987654321"
ARN: Final = f"arn:aws:lambda:eu-central-1:{ACCOUNT}:function:any"
BOARD: Final = "doctor-1"


def record(board: str) -> dict[str, Any]:
    return {"eventName": "INSERT", "dynamodb": {"Keys": {"pk": {"S": f"{board}#points"}, "sk": {"S": "m"}}}}


class Services:
    """Lambda, SQS and the stream of a stack in account `ACCOUNT`."""

    def __init__(self) -> None:
        self.refuses = ""
        self.pages = [[record("others")], [], [record(BOARD), record("others")]]
        self.letters = [{"Body": json.dumps({"board": board}), "Attributes": {}} for board in (BOARD, "others")]

    def get_function_configuration(self, **_: Any) -> Any:
        if self.refuses:
            raise ClientError({"Error": {"Code": self.refuses, "Message": ARN}}, "GetFunctionConfiguration")
        return {"FunctionArn": ARN, "ResponseMetadata": {"RequestId": "r"}}

    def list_event_source_mappings(self, **_: Any) -> Any:
        return {"EventSourceMappings": [{"EventSourceArn": ARN}]}

    def describe_stream(self, **_: Any) -> Any:
        return {"StreamDescription": {"Shards": [{"ShardId": "s"}]}}

    def get_shard_iterator(self, ShardIteratorType: str, **_: Any) -> Any:  # noqa: N803
        assert ShardIteratorType == "LATEST"
        return {"ShardIterator": "0"}

    def get_records(self, ShardIterator: str) -> Any:  # noqa: N803
        page = int(ShardIterator)
        following = {"NextShardIterator": str(page + 1)} if page + 1 < len(self.pages) else {}
        return {"Records": self.pages[page], **following}

    def receive_message(self, VisibilityTimeout: int, **_: Any) -> Any:  # noqa: N803
        assert VisibilityTimeout == 0
        return {"Messages": self.letters}


@pytest.fixture
def services() -> Services:
    return Services()


@pytest.fixture
def recording(engine: Any, services: Services, tmp_path: Path) -> Recording:
    connection: Any = SimpleNamespace(client=lambda name: engine if name == "dynamodb" else services)
    deployed = Deployed(connection, "standings", is_local=False)
    resources = {"ScoresTable": "Scores", "ActivityDeadLetterQueue": f"https://any/{ACCOUNT}/letters"}
    scores = {"TableArn": f"arn:aws:dynamodb:eu-central-1:{ACCOUNT}:table/Scores", "LatestStreamArn": "arn"}
    deployed.__dict__.update(resources=resources | dict.fromkeys(FUNCTIONS, "any"), tables={"ScoresTable": scores})
    return Recording(deployed, tmp_path / "record")


def test_the_stack_and_the_errors_of_writes_are_saved_and_nothing_is_written(recording: Recording, engine: Any) -> None:
    found = list(recording.of_stack())

    assert {finding.verdict for finding in found} == {Verdict.OK}, found
    saved = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in recording.directory.iterdir()}
    assert saved["WriterFunction"]["configuration"] == {"FunctionArn": ARN.replace(ACCOUNT, "123456789012")}
    assert saved["condition"]["response"]["Error"]["Code"] == "ConditionalCheckFailedException"
    reasons = saved["cancelled-transaction"]["response"]["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["ConditionalCheckFailed", "None"]
    assert saved["invalid-transaction"]["response"]["Error"]["Code"] == "ValidationException"
    assert rows(engine, "Scores") == []
    assert not [path for path in recording.directory.iterdir() if ACCOUNT in path.read_text(encoding="utf-8")]


def test_only_the_exercised_board_lends_its_records_and_messages(recording: Recording) -> None:
    assert list(recording.watch()) == []
    assert {finding.verdict for finding in recording.of_board(BOARD)} == {Verdict.OK}

    records = json.loads((recording.directory / "stream-records.json").read_text(encoding="utf-8"))
    letters = json.loads((recording.directory / "dead-letters.json").read_text(encoding="utf-8"))
    assert records == [record(BOARD)]
    assert [json.loads(letter["Body"])["board"] for letter in letters] == [BOARD]


def test_what_may_not_be_read_is_a_note_and_the_rest_is_saved(recording: Recording, services: Services) -> None:
    services.refuses = "AccessDeniedException"

    found = {finding.about: finding.verdict for finding in recording.of_stack()}

    assert found["record of WriterFunction"] == Verdict.NOTE
    assert found["record of condition"] == Verdict.OK
    assert not (recording.directory / "WriterFunction.json").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"arn:aws:sqs:eu-west-1:{ACCOUNT}:q", "arn:aws:sqs:eu-west-1:123456789012:q"),
        (f"https://sqs.any/{ACCOUNT}/q", "https://sqs.any/123456789012/q"),
        (f"bucket-{ACCOUNT}-eu", "bucket-123456789012-eu"),
        ("1795256100000", "1795256100000"),  # a time in milliseconds has 13 digits
        ("ab210987654321cd", "ab210987654321cd"),
    ],
)
def test_account_numbers_are_replaced(text: str, expected: str) -> None:
    assert json.loads(without_account(text)) == expected
