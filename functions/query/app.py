"""The query function: answers HTTP reads. It cannot write."""

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools.event_handler import Response

from standings.runtime import http, wiring
from standings.runtime.config import Config
from standings.runtime.observability import logger
from standings.services.answers import bad_argument

_query = wiring.query(Config.from_environment(), wiring.pacing())
_api = http.Api()

_DEFAULT_LIMIT = 100


@_api.get(http.RANKING)
def page(board: str, metric: str, window: str) -> Response[str]:
    """A page of a ranking's list."""
    given = _arguments("period", "limit", "cursor", "method")
    return http.json(
        _query.page(
            board,
            metric,
            window,
            period=given.get("period"),
            limit=http.whole(given, "limit", _DEFAULT_LIMIT),
            cursor=given.get("cursor"),
        )
    )


@_api.get(http.RANKING + "/rank")
def rank(board: str, metric: str, window: str) -> Response[str]:
    """A member's rank in a ranking."""
    given = _arguments("period", "member", "method")
    if "member" not in given:
        raise bad_argument("member", "is missing: say whose rank")
    return http.json(_query.rank(board, metric, window, period=given.get("period"), member=given["member"]))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer an HTTP request in API Gateway's payload format 2.0."""
    logger.debug("read", extra={"path": event.get("rawPath")})
    return _api.resolve(event, context)


def _arguments(*known: str) -> Mapping[str, str]:
    given = _api.arguments(*known)
    if given.get("method", "competition") != "competition":
        raise bad_argument("method", 'only "competition" is supported yet')
    return given
