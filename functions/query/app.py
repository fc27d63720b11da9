"""The query function: answers HTTP reads. It cannot write."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import orjson
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError

from standings.runtime import wiring
from standings.runtime.config import Config
from standings.runtime.observability import logger
from standings.services.answers import Problem, bad_argument, not_found
from standings.services.store import StoreUnavailableError

_query = wiring.query(Config.from_environment(), wiring.pacing())
_app = APIGatewayHttpResolver(serializer=lambda answer: orjson.dumps(answer).decode())

_RANKING = "/boards/<board>/<metric>/<window>"
_DEFAULT_LIMIT = 100
_LONGEST_NUMBER = 9
_LONGEST_SHOWN = 80


@_app.get(_RANKING)
def page(board: str, metric: str, window: str) -> Response[str]:
    """A page of a ranking's list."""
    given = _arguments("period", "limit", "cursor", "method")
    return _json(
        _query.page(
            board,
            metric,
            window,
            period=given.get("period"),
            limit=_whole(given, "limit", _DEFAULT_LIMIT),
            cursor=given.get("cursor"),
        )
    )


@_app.get(_RANKING + "/rank")
def rank(board: str, metric: str, window: str) -> Response[str]:
    """A member's rank in a ranking."""
    given = _arguments("period", "member", "method")
    if "member" not in given:
        raise bad_argument("member", "is missing: say whose rank")
    return _json(_query.rank(board, metric, window, period=given.get("period"), member=given["member"]))


def problem(error: Problem) -> Response[str]:
    """RFC 9457, with a detail that a person can act on."""
    return _json(error.document, error.status, "application/problem+json")


def store_unavailable(error: StoreUnavailableError) -> Response[str]:
    """The store is throttled or down, whatever the client asked."""
    logger.error("the store did not answer", extra={"reason": str(error)})
    return problem(Problem(503, "unavailable", "Try again", "the store does not answer just now: try again shortly"))


# Called, not used as decorators: those of Powertools hide the functions' types.
_app.exception_handler(Problem)(problem)
_app.exception_handler(StoreUnavailableError)(store_unavailable)


@_app.not_found
def no_such_path(_: NotFoundError) -> Response[str]:
    """A path that the interface does not name."""
    path = _app.current_event.path
    return problem(not_found("no-such-path", "No such path", f"there is nothing to read at {path}"))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer an HTTP request in API Gateway's payload format 2.0."""
    logger.debug("read", extra={"path": event.get("rawPath")})
    return _app.resolve(event, context)


def _arguments(*known: str) -> Mapping[str, str]:
    """The query's arguments: each one known, and given once."""
    given: dict[str, str] = {}
    # Not `queryStringParameters`: it joins what is given twice with a comma, which a member's id may hold.
    raw = _app.current_event.raw_event.get("rawQueryString", "")
    for name, value in parse_qsl(raw, keep_blank_values=True):
        if name not in known:
            raise bad_argument(name[:_LONGEST_SHOWN], f"no such argument; there are {', '.join(known)}")
        if name in given:
            raise bad_argument(name, "is given more than once")
        given[name] = value
    if given.get("method", "competition") != "competition":
        raise bad_argument("method", 'only "competition" is supported yet')
    return given


def _whole(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER):
        raise bad_argument(name, f"must be a whole number, is {text[:_LONGEST_SHOWN]!r}")
    return int(text)


def _json(answer: Any, status: int = 200, content_type: str = "application/json") -> Response[str]:
    return Response(status_code=status, content_type=content_type, body=orjson.dumps(answer).decode())
