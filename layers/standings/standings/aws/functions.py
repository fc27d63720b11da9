"""Calls a Lambda function without waiting for it."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from standings.aws.sdk_errors import errors_as_unavailable

_ERRORS = errors_as_unavailable("Lambda")


class Invoker:
    """Calls one function, by its name or ARN. The first call makes the client."""

    def __init__(self, client: Callable[[], Any], function: str) -> None:
        self._lambda = cache(client)
        self._function = function

    @_ERRORS
    def call_later(self, event: Mapping[str, Any]) -> None:
        """Let Lambda call the function with an event, soon and perhaps twice. Raises StoreUnavailableError."""
        self._lambda().invoke(FunctionName=self._function, InvocationType="Event", Payload=json.dumps(event).encode())
