"""The DynamoDBs that integration tests run on: the engine, DynamoDB Local and moto."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws

from tests.support.aws import redis_server
from tests.support.dynamodb import local
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables, delete_tables

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def local_endpoint() -> Iterator[str]:
    """The address of the DynamoDB Local that all tests of the session share."""
    reason = local.unavailable()
    if reason:
        pytest.skip(reason)
    with local.DynamoDBLocal.started() as server:
        yield server.endpoint


@pytest.fixture(scope="session")
def shared_local_client(local_endpoint: str) -> Any:
    return local.client_for(local_endpoint)


@pytest.fixture
def local_client(shared_local_client: Any) -> Iterator[Any]:
    """DynamoDB Local without tables. It deletes those of the test."""
    delete_tables(shared_local_client)
    yield shared_local_client
    delete_tables(shared_local_client)


@pytest.fixture(scope="session")
def shared_redis() -> Iterator[Any]:
    """A client of the real Redis that all tests of the session share."""
    reason = redis_server.unavailable()
    if reason:
        pytest.skip(reason)
    with redis_server.started() as client:
        yield client


@pytest.fixture
def redis(shared_redis: Any) -> Any:
    """A real, empty Redis."""
    shared_redis.flushall()
    return shared_redis


@pytest.fixture
def moto_client() -> Iterator[Any]:
    with mock_aws():
        yield boto3.client("dynamodb", region_name="us-east-1")


@pytest.fixture(params=["engine", "dynamodb-local", "moto"])
def client(request: pytest.FixtureRequest) -> Any:
    """Each of the three in turn, without tables."""
    if request.param == "engine":
        return Engine(shards=4)
    return request.getfixturevalue("local_client" if request.param == "dynamodb-local" else "moto_client")


@pytest.fixture
def tables(client: Any) -> dict[str, str]:
    """The tables of the template, made on `client`. Returns their names by logical id."""
    return create_tables(client)
