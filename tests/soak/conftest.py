"""Long tests, left to `make soak`: what other tests do, for many more seeds and far larger boards."""

from tests.integration.conftest import local_client, local_endpoint, shared_local_client
from tests.services.conftest import engine

__all__ = ["engine", "local_client", "local_endpoint", "shared_local_client"]
