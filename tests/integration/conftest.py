"""The DynamoDBs that integration tests run on: the engine, and in `make test-all` DynamoDB Local and moto too."""

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

ELSEWHERE = [pytest.param(name, marks=pytest.mark.thorough) for name in ("dynamodb-local", "moto")]


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


@pytest.fixture(scope="session")
def shared_moto_client() -> Any:
    """A client that all tests of the session share, since making one takes long. moto answers it within `mock_aws`."""
    with mock_aws():
        return boto3.client("dynamodb", region_name="us-east-1")


@pytest.fixture
def moto_client(shared_moto_client: Any) -> Iterator[Any]:
    """moto without tables."""
    with mock_aws():
        yield shared_moto_client


@pytest.fixture(params=["engine", *ELSEWHERE])
def client(request: pytest.FixtureRequest) -> Any:
    """Each of the three in turn, without tables."""
    if request.param == "engine":
        return Engine(shards=4)
    return request.getfixturevalue("local_client" if request.param == "dynamodb-local" else "moto_client")


@pytest.fixture
def tables(client: Any) -> dict[str, str]:
    """The tables of the template, made on `client`. Returns their names by logical id."""
    return create_tables(client)
