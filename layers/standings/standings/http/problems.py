"""Maps errors to problem documents (RFC 9457). Only this module knows the status of an error."""

from collections.abc import Mapping
from typing import Final

import orjson
from aws_lambda_powertools.event_handler import Response

from standings.domain.errors import InvalidArgumentError, InvalidBodyError, NotFoundError, RequestError, TooFarError
from standings.ports.errors import StoreUnavailableError
from standings.runtime.logs import logger

_BAD_REQUESTS: Final[Mapping[type[RequestError], tuple[str, str]]] = {
    InvalidArgumentError: ("bad-argument", "Bad argument"),
    InvalidBodyError: ("bad-body", "Bad body"),
    TooFarError: ("too-far", "Too far to count"),
}
"""Kind and title of the errors with status 400."""


def request_error(error: RequestError) -> Response[str]:
    """The problem of a request that its sender can correct: 400 or 404."""
    if isinstance(error, NotFoundError):
        return _problem(404, error.kind, error.title, str(error))
    kind, title = _BAD_REQUESTS[type(error)]
    return _problem(400, kind, title, str(error))


def method_not_allowed(detail: str, allowed: str) -> Response[str]:
    """405, for a path that has other methods."""
    return _problem(405, "method-not-allowed", "Method not allowed", detail, {"Allow": allowed})


def store_unavailable(error: StoreUnavailableError) -> Response[str]:
    """503, for a store that is throttled or down. The log has the reason."""
    logger.error("the store did not answer", extra={"reason": str(error)})
    return _problem(503, "unavailable", "Try again", "the store does not answer just now: try again shortly")


def _problem(status: int, kind: str, title: str, detail: str, headers: dict[str, str] | None = None) -> Response[str]:
    document = {"type": f"urn:standings:{kind}", "title": title, "status": status, "detail": detail}
    return Response(status, "application/problem+json", orjson.dumps(document).decode(), headers)
