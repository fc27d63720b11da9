"""The tests of `make soak`, which repeat other tests with many more seeds and far larger boards."""

from tests.functions.conftest import engine
from tests.functions.http.conftest import stack
from tests.integration.conftest import local_client, local_endpoint, shared_local_client

__all__ = ["engine", "local_client", "local_endpoint", "shared_local_client", "stack"]
