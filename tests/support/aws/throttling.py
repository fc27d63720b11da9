"""Clients of the real SDK to which a service that has too much to do answers late, and asks for more patience."""

from collections.abc import Callable
from io import BytesIO
from typing import Any

from botocore.awsrequest import AWSResponse

from standings.wiring import building_blocks
from tests.support.aws.stack import ManualClock

HUGE = "999999999999"


class Throttled:
    """A client of a service whose every answer is a throttle. `late` says how late it is: 1.0 is as late as may be."""

    def __init__(
        self, service: str, clock: ManualClock, retry_after: str | None = HUGE, late: Callable[[], float] = lambda: 1.0
    ) -> None:
        self.attempts = 0
        self._clock = clock
        self._late = late
        self._headers = {} if retry_after is None else {"x-amz-retry-after": retry_after}
        self.client = building_blocks.client(service)
        self.client.meta.events.register("before-send", self._answer)

    def _answer(self, request: Any, **_: Any) -> AWSResponse:
        self.attempts += 1
        settings = self.client.meta.config
        self._clock.sleep((settings.connect_timeout + settings.read_timeout) * self._late())
        raw: Any = BytesIO()
        raw.stream = lambda: [b""]
        return AWSResponse(request.url, 429, self._headers, raw)  # type: ignore[arg-type]
