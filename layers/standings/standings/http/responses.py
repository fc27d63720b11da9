"""Responses: JSON, the live page, reads whose answer the client already has, and problem documents (RFC 9457).

Only this module knows the status of an error.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import blake2b, sha256
from typing import Any, Final

import orjson
from aws_lambda_powertools.event_handler import Response

from standings.domain.errors import (
    InvalidArgumentError,
    InvalidBodyError,
    NotFoundError,
    NotYourMemberError,
    RequestError,
    TooFarError,
)
from standings.ports.errors import StoreUnavailableError
from standings.runtime.logs import logger

_BAD_REQUESTS: Final[Mapping[type[RequestError], tuple[str, str]]] = {
    InvalidArgumentError: ("bad-argument", "Bad argument"),
    InvalidBodyError: ("bad-body", "Bad body"),
    TooFarError: ("too-far", "Too far to count"),
}
"""Kind and title of the errors with status 400."""
_RETRY_AFTER_S: Final = 5


def json(answer: Any, status: int = 200) -> Response[str]:
    """An answer as JSON."""
    return Response(status, "application/json", orjson.dumps(answer).decode())


def html(page: str, picture_hosts: Sequence[str] = (), embed_origins: Sequence[str] = ()) -> Response[str]:
    """A page that may only run its own script, use its own styles and request its own origin.

    It may also load pictures from the given hosts. Pages of the given origins, such as `https://club.example`, and of
    its own may show it in a frame; without origins no page may.
    """
    policy = {
        "default-src": "'none'",
        "script-src": _source(page, "script"),
        "style-src": _source(page, "style"),
        "img-src": " ".join(["data:", *(f"https://{host}" for host in picture_hosts)]),
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": " ".join(["'self'", *embed_origins]) if embed_origins else "'none'",
    }
    headers = {
        "Content-Security-Policy": "; ".join(f"{directive} {source}" for directive, source in policy.items()),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(200, "text/html; charset=utf-8", page, headers)


def _source(page: str, element: str) -> str:
    """The source expression that allows only the page's one script or style: its hash."""
    content = page.partition(f"<{element}>")[2].partition(f"</{element}>")[0]
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


def kept_for(answer: Response[str], max_age: int) -> Response[str]:
    """The answer, which browsers and shared caches may give again for so many seconds, to pages of the same origin.

    With `CorsOrigins` the gateway adds the one origin that asked. A browser refuses a kept answer that names another.
    """
    answer.headers["Cache-Control"] = f"public, max-age={max_age}"
    answer.headers["Vary"] = "Origin"
    return answer


def with_etag(answer: dict[str, Any], request_headers: Mapping[str, str]) -> dict[str, Any]:
    """The answer to a read with its ETag; 304 without a body if the client already has it (RFC 9110)."""
    tag = f'"{blake2b(answer["body"].encode(), digest_size=12).hexdigest()}"'
    answer = {**answer, "headers": {"Cache-Control": "no-cache", **answer["headers"], "ETag": tag}}
    # A gateway that compresses the body marks the tag as weak.
    known = (one.strip().removeprefix("W/") for one in request_headers.get("if-none-match", "").split(","))
    return {**answer, "statusCode": 304, "body": ""} if tag in known else answer


def preflight() -> dict[str, Any]:
    """What a browser asks before a call of another origin. The gateway adds the headers that `CorsOrigins` allows."""
    return {"statusCode": 204, "headers": {}, "body": ""}


def request_error(error: RequestError) -> Response[str]:
    """The problem of a request that its sender can correct: 400, 403 or 404."""
    if isinstance(error, NotYourMemberError):
        return _problem(403, "not-your-member", "Not your member", str(error))
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
    detail = f"the store does not answer just now: try again in {_RETRY_AFTER_S} seconds"
    return _problem(503, "unavailable", "Try again", detail, {"Retry-After": str(_RETRY_AFTER_S)})


def _problem(status: int, kind: str, title: str, detail: str, headers: dict[str, str] | None = None) -> Response[str]:
    document = {"type": f"urn:standings:{kind}", "title": title, "status": status, "detail": detail}
    # Without it a CDN keeps a 404 for some seconds, and a board's first event does not show.
    headers = {"Cache-Control": "no-cache", **(headers or {})}
    return Response(status, "application/problem+json", orjson.dumps(document).decode(), headers)
