"""Errors of the AWS SDK."""

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError

from standings.stores import StoreUnavailableError


def error_code(error: ClientError) -> str:
    """The code that the service gave, such as `NoSuchKey`; empty if it gave none."""
    return error.response.get("Error", {}).get("Code", "")


@contextmanager
def errors_as_unavailable(service: str) -> Iterator[None]:
    """Raise StoreUnavailableError for every error of the SDK. The message begins with the service's name."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise StoreUnavailableError(f"{service}: {error}") from error
