"""The HTTP API of a command: a person sees that the command waits for an answer."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from standings.client.api import Api
from standings_cli.terminal import Working


@dataclass(frozen=True)
class WatchedApi(Api):
    """The API, which tells a person `waiting for the stack: 3 s` from two seconds after the command began on."""

    began: float = field(default_factory=time.monotonic)
    """When it was made, in seconds of `time.monotonic()`."""

    def answer(
        self, method: str, path: Sequence[str], arguments: Mapping[str, str | int | None], data: bytes = b""
    ) -> dict[str, Any]:
        """Send a request, and return the answer, as `Api.answer` does."""
        with Working("waiting for the stack", self.began):
            return super().answer(method, path, arguments, data)
