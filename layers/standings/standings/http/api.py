"""What the functions that answer HTTP have in common: paths, arguments, bodies, and answers in JSON."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from hashlib import blake2b, sha256
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

import orjson
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError

from standings.domain.errors import Problem, bad_argument, bad_body, not_found
from standings.domain.events.event import MAX_SHOWN_LENGTH
from standings.ports.errors import StoreUnavailableError
from standings.runtime.logs import logger

EVENTS: Final = "/events"
MEMBER: Final = "/boards/<board>/member"
RANKING: Final = "/boards/<board>/<metric>/<window>"

WRITES: Final[Mapping[str, tuple[str, ...]]] = {EVENTS: ("POST",), MEMBER: ("PUT", "DELETE")}
"""The calls that have routes to the command function: all others come to the query function, which has to say so."""

_MAX_NUMBER_LENGTH: Final = 15

Answer = Callable[..., Response[str]]
_Answer = TypeVar("_Answer", bound=Answer)


class Api:
    """The calls that a function answers."""

    def __init__(self) -> None:
        self._app = APIGatewayHttpResolver()
        self._methods: dict[str, set[str]] = {path: set(methods) for path, methods in WRITES.items()}
        # Called, not used as decorators: those of Powertools hide the functions' types.
        self._app.exception_handler(Problem)(problem)
        self._app.exception_handler(StoreUnavailableError)(_store_unavailable)
        self._app.not_found(self._no_such_call)

    def resolve(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """Answer an HTTP request in API Gateway's payload format 2.0."""
        answer = self._app.resolve(event, context)
        return _unless_known(answer, event) if _is_read(event) else answer

    def get(self, path: str) -> Callable[[_Answer], _Answer]:
        """Make a function the answer to reading a path."""
        return self._call("GET", path)

    def post(self, path: str) -> Callable[[_Answer], _Answer]:
        """Make a function the answer to posting to a path."""
        return self._call("POST", path)

    def put(self, path: str) -> Callable[[_Answer], _Answer]:
        """Make a function the answer to putting something at a path."""
        return self._call("PUT", path)

    def delete(self, path: str) -> Callable[[_Answer], _Answer]:
        """Make a function the answer to deleting what is at a path."""
        return self._call("DELETE", path)

    def arguments(self, *known: str) -> Mapping[str, str]:
        """The query's arguments: each one known, and given once."""
        given: dict[str, str] = {}
        # Not `queryStringParameters`: it joins what is given twice with a comma, which a member's id may hold.
        raw = self._app.current_event.raw_event.get("rawQueryString", "")
        try:
            found = parse_qsl(raw, keep_blank_values=True, errors="strict")
        except UnicodeDecodeError as error:
            raise bad_argument("query", f"is no UTF-8: {error}") from error
        for name, value in found:
            if name not in known:
                there_are = f"there are {', '.join(known)}" if known else "there are none"
                raise bad_argument(_shown(name), f"no such argument; {there_are}")
            if name in given:
                raise bad_argument(name, "is given more than once")
            given[name] = value
        return given

    def body(self) -> bytes:
        """The request's body, empty where there is none."""
        event = self._app.current_event.raw_event
        text = event.get("body") or ""
        try:
            return b64decode(text, validate=True) if event.get("isBase64Encoded") else text.encode()
        except ValueError as error:
            raise bad_body(f"cannot be read: {error}") from error

    def document(self) -> Any:
        """What the request's body says in JSON."""
        try:
            return orjson.loads(self.body())
        except orjson.JSONDecodeError as error:
            raise bad_body(f"must be JSON: {error}") from error

    def _call(self, method: str, path: str) -> Callable[[_Answer], _Answer]:
        def add(function: _Answer) -> _Answer:
            self._methods.setdefault(path, set()).add(method)
            self._app.route(path, method)(function)
            return function

        return add

    def _no_such_call(self, _: NotFoundError) -> Response[str]:
        path, method = self._app.current_event.path, self._app.current_event.http_method
        methods = {known for rule, there in self._methods.items() if _matches(path, rule) for known in there}
        # A method that is there: then it is a name in the path that has a character of no name.
        if not methods or method in methods:
            return problem(not_found("no-such-path", "No such path", f"there is nothing at {_shown(path)}"))
        allowed = ", ".join(sorted(methods))
        detail = f"{_shown(path)} does not know {method}, only {allowed}"
        return problem(Problem(405, "method-not-allowed", "Method not allowed", detail), {"Allow": allowed})


def _is_read(event: Mapping[str, Any]) -> bool:
    return bool(event["requestContext"]["http"]["method"] == "GET")


def _unless_known(answer: dict[str, Any], event: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a read with its tag; without its body for a client that has it already (RFC 9110, 304)."""
    if answer["statusCode"] != 200:  # noqa: PLR2004 - OK
        return answer
    tag = f'"{blake2b(answer["body"].encode(), digest_size=12).hexdigest()}"'
    known = (event.get("headers") or {}).get("if-none-match", "")
    headers = {**answer["headers"], "ETag": tag, "Cache-Control": answer["headers"].get("Cache-Control", "no-cache")}
    # A gateway that compresses marks tags as weak ones.
    if tag in (one.strip().removeprefix("W/") for one in known.split(",")):
        return {**answer, "statusCode": 304, "headers": headers, "body": ""}
    return {**answer, "headers": headers}


def whole(given: Mapping[str, str], name: str, default: int) -> int:
    """An argument that is a whole number."""
    text = given.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_NUMBER_LENGTH):
        raise bad_argument(
            name, f"must be a whole number of up to {_MAX_NUMBER_LENGTH} digits, is {text[:MAX_SHOWN_LENGTH]!r}"
        )
    return int(text)


def flag(given: Mapping[str, str], name: str) -> bool:
    """An argument that is `true` or `false`, which it is where it is not given."""
    text = given.get(name, "false")
    if text not in ("true", "false"):
        raise bad_argument(name, f"must be true or false, is {text[:MAX_SHOWN_LENGTH]!r}")
    return text == "true"


def json(answer: Any, status: int = 200) -> Response[str]:
    """An answer in JSON."""
    return Response(status_code=status, content_type="application/json", body=orjson.dumps(answer).decode())


def document(html: str) -> Response[str]:
    """A document that may do nothing but run its own script and styles, and ask its own origin."""
    allowed = {
        "default-src": "'none'",
        "script-src": _fingerprint(html, "script"),
        "style-src": _fingerprint(html, "style"),
        "img-src": "data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    headers = {
        "Content-Security-Policy": "; ".join(f"{what} {whence}" for what, whence in allowed.items()),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(status_code=200, content_type="text/html; charset=utf-8", body=html, headers=dict(headers))


def _fingerprint(html: str, element: str) -> str:
    """The source that allows a document's one script or style, and no other."""
    content = html.partition(f"<{element}>")[2].partition(f"</{element}>")[0]
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


def nothing() -> Response[str]:
    """204: done, and there is nothing to say."""
    return Response(status_code=204, body="")


def problem(error: Problem, headers: Mapping[str, str] | None = None) -> Response[str]:
    """RFC 9457, with a detail that a person can act on."""
    return Response(
        status_code=error.status,
        content_type="application/problem+json",
        body=orjson.dumps(error.document).decode(),
        headers=dict(headers or {}),
    )


def _store_unavailable(error: StoreUnavailableError) -> Response[str]:
    """The store is throttled or down, whatever the client asked."""
    logger.error("the store did not answer", extra={"reason": str(error)})
    return problem(Problem(503, "unavailable", "Try again", "the store does not answer just now: try again shortly"))


def _matches(path: str, rule: str) -> bool:
    parts, names = path.split("/"), rule.split("/")
    return len(parts) == len(names) and all(
        bool(part) if name.startswith("<") else part == name for part, name in zip(parts, names, strict=True)
    )


def _shown(text: str) -> str:
    """A client's text, short and fit for JSON: half a character is not."""
    return text[:MAX_SHOWN_LENGTH].encode(errors="replace").decode()
