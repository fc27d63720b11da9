"""Clients of a stack whose functions run in this process: one that reads the tables, one that calls the API."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from zlib import crc32

import pytest

from standings.client import Standings, connect
from standings.runtime.clock import Clock
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.gateway import serving
from tests.support.aws.stack import Stack
from tests.support.dynamodb.requests import Requests
from tests.support.dynamodb.tables import engine_with_tables

TABLES = {name: name.title() for name in ("scores", "rankings", "profiles", "receipts")}


class Clients(NamedTuple):
    """The two clients. Requests of either, and of the functions, are counted by `requests`."""

    tables: Standings
    api: Standings
    requests: Requests


@pytest.fixture
def engine() -> Any:
    return Requests(engine_with_tables())


Connect = Callable[..., Standings]


@pytest.fixture
def connected(stack: Stack, tmp_path: Path, request: pytest.FixtureRequest) -> Connect:
    """Makes clients of the stack: with what is given, and else all that `connect` needs."""

    def make(boards: str | None = request.module.BOARDS, sqs: Any = stack.activity, **given: Any) -> Standings:
        file = None if boards is None else tmp_path / f"{crc32(boards.encode())}.toml"
        if boards is not None and file is not None:
            file.write_text(boards, encoding="utf-8")
        clients = {"dynamodb": given.pop("dynamodb", stack.dynamodb), "sqs": sqs}
        session = SimpleNamespace(
            create_client=lambda service, config: clients[service],  # noqa: ARG005 - the SDK's names
            get_credentials=lambda: None,
            get_config_variable=lambda _: "eu-central-1",
        )
        clock = Clock(stack.clock, stack.clock.monotonic, stack.clock.sleep, lambda: 0.5)
        ids = count(1)
        made = {"tables": TABLES, "boards": file, "queue_url": ENVIRONMENT["ACTIVITY_QUEUE_URL"], **given}
        return connect(session=session, clock=clock, new_id=lambda: f"made-{next(ids)}", **made)

    return make


@pytest.fixture
def clients(stack: Stack, connected: Connect, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clients]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving(stack) as gateway:
        yield Clients(connected(), connected(reads="api", api_url=gateway.address), stack.dynamodb)
        assert gateway.raised == []
