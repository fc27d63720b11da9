"""Routes: which function answers which method and path, and what it can read of the request."""

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import orjson
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler import exceptions as powertools

from standings.domain.errors import RequestError, bad_body, not_found
from standings.http import problems
from standings.http.arguments import Arguments, parse_arguments, shown
from standings.http.responses import with_etag
from standings.ports.errors import StoreUnavailableError

EVENTS: Final = "/events"
MEMBER: Final = "/boards/<board>/member"
RANKING: Final = "/boards/<board>/<metric>/<window>"

WRITES: Final[Mapping[str, tuple[str, ...]]] = {EVENTS: ("POST",), MEMBER: ("PUT", "DELETE")}
"""The calls that the gateway routes to the command function. All others reach the query function, also wrong ones."""

_Answer = TypeVar("_Answer", bound=Callable[..., Response[str]])


class Api:
    """The calls that one Lambda function answers."""

    def __init__(self) -> None:
        self._app = APIGatewayHttpResolver()
        self._methods: dict[str, set[str]] = {path: set(methods) for path, methods in WRITES.items()}
        # Called, not used as decorators: those of Powertools hide the functions' types.
        self._app.exception_handler(RequestError)(problems.request_error)
        self._app.exception_handler(StoreUnavailableError)(problems.store_unavailable)
        self._app.not_found(self._no_such_call)

    def route(self, method: str, path: str) -> Callable[[_Answer], _Answer]:
        """Make the decorated function the answer to a method and path."""

        def add(function: _Answer) -> _Answer:
            self._methods.setdefault(path, set()).add(method)
            self._app.route(path, method)(function)
            return function

        return add

    def resolve(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """Answer an HTTP request in API Gateway's payload format 2.0."""
        answer = self._app.resolve(event, context)
        if event["requestContext"]["http"]["method"] != "GET" or answer["statusCode"] != 200:  # noqa: PLR2004 - OK
            return answer
        return with_etag(answer, event.get("headers") or {})

    def arguments(self, *known: str) -> Arguments:
        """The arguments of the query string. Unknown and repeated arguments are errors."""
        # Not `queryStringParameters`: it joins repeated values with a comma, which a member's id may contain.
        return parse_arguments(self._app.current_event.raw_event.get("rawQueryString", ""), known)

    def body(self) -> bytes:
        """The body of the request, empty if there is none."""
        event = self._app.current_event.raw_event
        text = event.get("body") or ""
        try:
            return b64decode(text, validate=True) if event.get("isBase64Encoded") else text.encode()
        except ValueError as error:
            raise bad_body(f"cannot be read: {error}") from error

    def document(self) -> Any:
        """The body of the request, parsed as JSON."""
        try:
            return orjson.loads(self.body())
        except orjson.JSONDecodeError as error:
            raise bad_body(f"must be JSON: {error}") from error

    def _no_such_call(self, _: powertools.NotFoundError) -> Response[str]:
        path, method = self._app.current_event.path, self._app.current_event.http_method
        allowed = {method for route, methods in self._methods.items() if _matches(path, route) for method in methods}
        # If the method exists, a name in the path has a character that no name has.
        if not allowed or method in allowed:
            return problems.request_error(
                not_found("no-such-path", "No such path", f"there is nothing at {shown(path)}")
            )
        names = ", ".join(sorted(allowed))
        return problems.method_not_allowed(f"{shown(path)} does not know {method}, only {names}", names)


def _matches(path: str, route: str) -> bool:
    parts, names = path.split("/"), route.split("/")
    return len(parts) == len(names) and all(
        bool(part) if name.startswith("<") else part == name for part, name in zip(parts, names, strict=True)
    )
