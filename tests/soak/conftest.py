"""Long tests, left to `make soak`: what other tests do, for many more seeds and far larger boards."""

from tests.functions.conftest import engine
from tests.integration.conftest import local_client, local_endpoint, shared_local_client

__all__ = ["engine", "local_client", "local_endpoint", "shared_local_client"]
