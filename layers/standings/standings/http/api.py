"""Routes: which function answers which method and path, and the arguments and body of a request."""

from base64 import b64decode
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final, TypeVar, cast
from urllib.parse import parse_qsl

import orjson
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler import exceptions as powertools

from standings.domain.errors import RequestError, bad_argument, bad_body, not_found
from standings.domain.events.event import MAX_SHOWN_LENGTH
from standings.http import responses
from standings.ports.errors import StoreUnavailableError
from standings.runtime.logs import stack_of

EVENTS: Final = "/events"
PROFILE: Final = "/members"
MEMBER: Final = "/boards/<board>/member"
RANKING: Final = "/boards/<board>/<metric>/<window>"

WRITES: Final[Mapping[str, tuple[str, ...]]] = {
    EVENTS: ("POST",),
    PROFILE: ("PUT", "DELETE"),
    MEMBER: ("PUT", "DELETE"),
}
"""The calls that the gateway routes to the command function. All others reach the query function, also wrong ones."""

_MAX_DIGITS: Final = 15
_Answer = TypeVar("_Answer", bound=Callable[..., Response[str]])


class Arguments(dict[str, str]):
    """Arguments by name. Every error is an `InvalidArgumentError` that begins with the argument's name."""

    def required(self, name: str, hint: str) -> str:
        """An argument that must be present; `hint` says what to give."""
        if name not in self:
            raise bad_argument(name, f"is missing: {hint}")
        return self[name]

    def whole(self, name: str, default: int, *, signed: bool = False) -> int:
        """A whole number, without a sign unless it may be `signed`."""
        text = self.get(name, str(default))
        digits = text.removeprefix("-") if signed else text
        if not (digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS):
            detail = f"expected a whole number of up to {_MAX_DIGITS} digits, got {text[:MAX_SHOWN_LENGTH]!r}"
            raise bad_argument(name, detail)
        return int(text)

    def flag(self, name: str) -> bool:
        """`true` or `false`; false if absent."""
        text = self.get(name, "false")
        if text not in ("true", "false"):
            raise bad_argument(name, f"expected true or false, got {text[:MAX_SHOWN_LENGTH]!r}")
        return text == "true"


class Api:
    """The calls that one Lambda function answers.

    For `rankings_max_age` seconds, browsers and a CDN may answer a read of a ranking themselves; 0 lets them ask each
    time.
    """

    def __init__(self, rankings_max_age: int = 0) -> None:
        self._rankings_max_age = rankings_max_age
        self._app = APIGatewayHttpResolver()
        self._methods: dict[str, set[str]] = {path: set(methods) for path, methods in WRITES.items()}
        # Called, not used as decorators: those of Powertools hide the functions' types.
        self._app.exception_handler(RequestError)(responses.request_error)
        self._app.exception_handler(StoreUnavailableError)(responses.store_unavailable)
        self._app.not_found(self._no_such_call)

    def route(self, method: str, path: str) -> Callable[[_Answer], _Answer]:
        """Make the decorated function the answer to a method and path."""

        def add(function: _Answer) -> _Answer:
            self._methods.setdefault(path, set()).update({"GET", "HEAD"} if method == "GET" else {method})
            answer = _without_text_of_bugs(function)
            if method == "GET" and path.startswith(RANKING) and self._rankings_max_age:
                answer = _kept_for(answer, self._rankings_max_age)
            self._app.route(path, method)(answer)
            return function

        return add

    def resolve(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """Answer an HTTP request in API Gateway's payload format 2.0."""
        http = event["requestContext"]["http"]
        if http["method"] == "OPTIONS":
            return responses.preflight()
        if http["method"] == "HEAD":
            answer = self.resolve(
                {**event, "requestContext": {**event["requestContext"], "http": {**http, "method": "GET"}}}, context
            )
            return {**answer, "body": ""}
        answer = self._app.resolve(event, context)
        if http["method"] != "GET" or answer["statusCode"] != 200:  # noqa: PLR2004 - OK
            return answer
        return responses.with_etag(answer, event.get("headers") or {})

    def arguments(self, *known: str) -> Arguments:
        """The arguments of the query string. Unknown and repeated arguments are errors."""
        arguments = Arguments()
        # Not `queryStringParameters`: it joins repeated values with a comma, which a member's id may contain.
        query_string = self._app.current_event.raw_event.get("rawQueryString", "")
        try:
            pairs = parse_qsl(query_string, keep_blank_values=True, errors="strict")
        except UnicodeDecodeError as error:
            raise bad_argument("query", f"expected UTF-8, got {error}") from error
        for name, value in pairs:
            if name not in known:
                there_are = f"there are {', '.join(known)}" if known else "there are none"
                raise bad_argument(_shown(name), f"no such argument; {there_are}")
            if name in arguments:
                raise bad_argument(name, "is given more than once")
            arguments[name] = value
        return arguments

    @property
    def event(self) -> dict[str, Any]:
        """The request in API Gateway's payload format 2.0."""
        return self._app.current_event.raw_event

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
            raise bad_body(f"expected JSON, got {error}") from error

    def _no_such_call(self, _: powertools.NotFoundError) -> Response[str]:
        path, method = self._app.current_event.path, self._app.current_event.http_method
        allowed = {method for route, methods in self._methods.items() if _matches(path, route) for method in methods}
        # If the method exists, a name in the path has a character that no name has.
        if not allowed or method in allowed:
            error = not_found("no-such-path", "No such path", f"there is nothing at {_shown(path)}")
            return responses.request_error(error)
        names = ", ".join(sorted(allowed))
        return responses.method_not_allowed(f"{_shown(path)} does not know {method}, only {names}", names)


def _without_text_of_bugs(function: _Answer) -> _Answer:
    """Raise a bug of ours without its text, which may quote what a client sent: Powertools and Lambda log it."""

    @wraps(function)
    def answer(**names: str) -> Response[str]:
        try:
            return function(**names)
        except (RequestError, StoreUnavailableError):
            raise
        except Exception as bug:  # noqa: BLE001 - it is raised again
            raise stack_of(bug) from None

    return cast("_Answer", answer)


def _kept_for(function: _Answer, max_age: int) -> _Answer:
    """Let anyone keep the answers for so many seconds. Errors are raised, so nobody keeps them."""

    @wraps(function)
    def answer(**names: str) -> Response[str]:
        return responses.kept_for(function(**names), max_age)

    return cast("_Answer", answer)


def _matches(path: str, route: str) -> bool:
    parts, names = path.split("/"), route.split("/")
    return len(parts) == len(names) and all(
        bool(part) if name.startswith("<") else part == name for part, name in zip(parts, names, strict=True)
    )


def _shown(text: str) -> str:
    """A client's text, short enough for a message and with lone surrogates replaced, which JSON cannot hold."""
    return text[:MAX_SHOWN_LENGTH].encode(errors="replace").decode()
