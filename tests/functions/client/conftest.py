"""Clients of a stack whose functions run in this process: one that reads the tables, one that calls the API."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from standings.client import Standings
from tests.support.aws import client
from tests.support.aws.gateway import serving
from tests.support.aws.stack import Stack
from tests.support.dynamodb.requests import Requests
from tests.support.dynamodb.tables import engine_with_tables

Connect = Callable[..., Standings]


class Clients(NamedTuple):
    """The two clients. Requests of either, and of the functions, are counted by `requests`."""

    tables: Standings
    api: Standings
    requests: Requests


@pytest.fixture
def engine() -> Any:
    return Requests(engine_with_tables())


@pytest.fixture
def connected(stack: Stack, tmp_path: Path, request: pytest.FixtureRequest) -> Connect:
    """Makes clients of the stack."""
    return partial(client.connected, stack, tmp_path, boards=request.module.BOARDS)


@pytest.fixture
def clients(stack: Stack, connected: Connect, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clients]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving(stack) as gateway:
        yield Clients(
            connected(api_url=gateway.address), connected(reads="api", api_url=gateway.address), stack.dynamodb
        )
        assert gateway.raised == []
