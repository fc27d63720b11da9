"""Clients as the functions have them, of services that have too much to do: they answer late, and ask for patience."""

from collections.abc import Callable
from functools import cache
from io import BytesIO
from typing import Any, Final

import urllib3
from botocore.awsrequest import AWSResponse
from botocore.session import get_session

from standings.aws.dynamodb.light_client import Connection, Credentials, LightClient
from standings.wiring import building_blocks
from tests.support.aws.stack import ManualClock

HUGE: Final = "999999999999"
LIGHT: Final = "light"
"""The service DynamoDB, by the light client."""


_session = cache(get_session)  # Each has to read the descriptions of the services again


class Throttled:
    """A client of a service whose every answer is a throttle. `late` says how late it is: 1.0 is as late as may be."""

    def __init__(
        self, service: str, clock: ManualClock, retry_after: str | None = HUGE, late: Callable[[], float] = lambda: 1.0
    ) -> None:
        self.attempts = 0
        self.client: Any
        self._clock = clock
        self._late = late
        self._headers = {} if retry_after is None else {"x-amz-retry-after": retry_after}
        if service == LIGHT:
            nowhere = Connection("http://throttled.invalid/", "eu-central-1", Credentials("a", "b", None))
            self.client = LightClient(nowhere, building_blocks.LIMITS, building_blocks.real_clock())
            self.client._made_pool = self
        else:
            self.client = building_blocks.client_of(_session(), service)
            self.client.meta.events.register("before-send", self._answer)

    def urlopen(self, *_: Any, **__: Any) -> urllib3.HTTPResponse:
        """Answer in place of the light client's connections."""
        self._wait()
        return urllib3.HTTPResponse(BytesIO(), self._headers, 429)

    def _answer(self, request: Any, **_: Any) -> AWSResponse:
        self._wait()
        raw: Any = BytesIO()
        raw.stream = lambda: [b""]
        return AWSResponse(request.url, 429, self._headers, raw)  # type: ignore[arg-type]

    def _wait(self) -> None:
        self.attempts += 1
        longest = building_blocks.CONNECT_TIMEOUT_S + building_blocks.SOCKET_READ_S
        self._clock.sleep(longest * self._late())
