"""The HTTP API: what answers a call of `standings.calls`, responses and problems, and the live page."""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from hashlib import blake2b, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import parse_qsl

import orjson
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler import exceptions as powertools

from standings.calls import (
    CALLS,
    RANKING,
    RETRY_AFTER_S,
    UNAVAILABLE,
    Argument,
    Arguments,
    Problem,
    problem_of,
    shown,
)
from standings.domain import zones
from standings.domain.errors import (
    InvalidBodyError,
    NotFoundError,
    RequestError,
    bad_argument,
)
from standings.runtime.logs import logger, stack_of
from standings.stores import StoreUnavailableError

if TYPE_CHECKING:
    from standings.read.answers import Answers

# Responses: JSON, the live page, reads whose answer the client already has, and problem documents (RFC 9457).


def json(answer: Any, status: int = 200) -> Response[str]:
    """A response with an answer as JSON: `json({"status": "queued"}, 202)`."""
    return Response(status, "application/json", orjson.dumps(answer).decode())


def html(page: str, picture_hosts: Sequence[str] = (), embed_origins: Sequence[str] = ()) -> Response[str]:
    """A response with a page, which may only run its own script, use its own styles and request its own origin.

    It may also load pictures from the given hosts, such as `pictures.example`. Pages of the given origins, such as
    `https://club.example`, and of its own may show it in a frame; without origins no page may.
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


def with_max_age(answer: Response[str], max_age: int) -> Response[str]:
    """The response, which browsers and shared caches may reuse for `max_age` seconds, for pages of the same origin.

    With `CorsOrigins` the gateway adds the origin of the page that sent the request. A browser refuses a response that
    names another origin, so caches keep one for each (`Vary: Origin`).
    """
    answer.headers["Cache-Control"] = f"public, max-age={max_age}"
    answer.headers["Vary"] = "Origin"
    return answer


def with_etag(answer: dict[str, Any], request_headers: Mapping[str, str]) -> dict[str, Any]:
    """The response to a read with its ETag, such as `"5b1e…"`; 304 without a body if the client has it (RFC 9110).

    The client has it if `if-none-match` among the request's headers names the tag.
    """
    tag = f'"{blake2b(answer["body"].encode(), digest_size=12).hexdigest()}"'
    answer = {**answer, "headers": {"Cache-Control": "no-cache", **answer["headers"], "ETag": tag}}
    # A gateway that compresses the body marks the tag as weak.
    known = (one.strip().removeprefix("W/") for one in request_headers.get("if-none-match", "").split(","))
    return {**answer, "statusCode": 304, "body": ""} if tag in known else answer


def preflight() -> dict[str, Any]:
    """The response to a preflight request (CORS), 204. The gateway adds the headers that `CorsOrigins` allows."""
    return {"statusCode": 204, "headers": {}, "body": ""}


def request_error(error: RequestError) -> Response[str]:
    """The problem of a request that its sender can correct: 400, 403 or 404."""
    return _problem(problem_of(error))


def method_not_allowed(detail: str, allowed: str) -> Response[str]:
    """405, for a path that has other methods: `method_not_allowed("/boards takes GET, HEAD, not PUT", "GET, HEAD")`."""
    return _problem(Problem(405, "method-not-allowed", "Method not allowed", detail), {"Allow": allowed})


def store_unavailable(error: StoreUnavailableError) -> Response[str]:
    """503 with `Retry-After`, for a store that is throttled or down. The log has the reason."""
    logger.error("the store did not answer", extra={"reason": str(error)})
    return _problem(UNAVAILABLE, {"Retry-After": str(RETRY_AFTER_S)})


def _problem(problem: Problem, headers: dict[str, str] | None = None) -> Response[str]:
    status, kind, title, detail = problem
    document = {"type": f"urn:standings:{kind}", "title": title, "status": status, "detail": detail}
    # Without this header a CDN keeps a 404 for some seconds, so a board's first event would not show at once.
    headers = {"Cache-Control": "no-cache", **(headers or {})}
    return Response(status, "application/problem+json", orjson.dumps(document).decode(), headers)


# The live page: one document, made of a folder's page.html with its styles and scripts.
#
# One document needs one request, and its policy can name the hash of its one style and its one script.

_STYLES: Final = re.compile(r'(?:<link rel="stylesheet" href="[a-z]+\.css">\n)+')
_SCRIPTS: Final = re.compile(r'(?:<script src="[a-z]+\.js"></script>\n)+')
_FILE: Final = re.compile(r'"([a-z]+\.(?:css|js))"')
_PICTURE_HOSTS: Final = '<meta name="picture-hosts" content="{}">'
_TIME_ZONES: Final = '<meta name="time-zones" content="{}">'


def document(folder: Path, picture_hosts: Sequence[str] = ()) -> str:
    """A folder's `page.html` as one document that may load pictures from the given hosts: `["pictures.example"]`.

    It names the version of the time zones.
    """

    def joined(tags: re.Match[str]) -> str:
        return "".join((folder / name).read_text(encoding="utf-8") for name in _FILE.findall(tags[0]))

    page = (folder / "page.html").read_text(encoding="utf-8")
    page = _STYLES.sub(lambda tags: f"<style>\n{joined(tags)}</style>\n", page, count=1)
    page = _SCRIPTS.sub(lambda tags: f"<script>\n{joined(tags)}</script>\n", page, count=1)
    page = page.replace(_TIME_ZONES.format(""), _TIME_ZONES.format(zones.VERSION))
    # The policy blocks other hosts too. With the list the page does not even try them.
    return page.replace(_PICTURE_HOSTS.format(""), _PICTURE_HOSTS.format(" ".join(picture_hosts)))


# Calls: the functions that answer them, once their arguments are checked.

_Answer = TypeVar("_Answer", bound=Callable[..., Response[str]])


class Api:
    """The calls that one Lambda function answers: `api = Api(60)`, then `api.answer_from(answers)`, then `api.handle`.

    Browsers and a CDN may reuse the answer to a read of a ranking for `rankings_max_age` seconds; with 0 they send each
    request. `arguments` are those of the request that is being answered.
    """

    arguments: Arguments

    def __init__(self, rankings_max_age: int = 0) -> None:
        self._rankings_max_age = rankings_max_age
        self._page: Callable[[], Response[str]] | None = None
        self._app = APIGatewayHttpResolver()
        # All calls, since the gateway sends every call that does not exist to the query function: `PUT /events` too.
        self._routes = {(call.method, call.path) for call in CALLS.values()}
        # Called as functions: as decorators, these methods of Powertools would hide the types of what they decorate.
        self._app.exception_handler(RequestError)(request_error)
        self._app.exception_handler(StoreUnavailableError)(store_unavailable)
        self._app.not_found(self._no_such_call)

    def route(self, name: str) -> Callable[[_Answer], _Answer]:
        """Make the decorated function answer a call of `CALLS`: `@api.route("postEvents")`.

        It is called with the names in the path, such as `board="berlin-2026"`, once the arguments of the query string
        are checked.
        """
        call = CALLS[name]

        def add(function: _Answer) -> _Answer:
            @wraps(function)
            def checked(**names: str) -> Response[str]:
                if call.path == "/" and (page := self._page_asked_for()) is not None:
                    return page
                self.arguments = self._given(call.arguments)
                return function(**names)

            answer = _without_text_of_bugs(checked)
            if call.method == "GET" and call.path.startswith(RANKING) and self._rankings_max_age:
                answer = _with_max_age(answer, self._rankings_max_age)
            self._app.route(call.path, call.method)(answer)
            return function

        return add

    def answer_from(self, answers: "Answers") -> None:
        """Answer every read from the tables: `listRanking`, `getRank` and the others."""
        self.answers = answers
        for name in answers.reads:
            self.route(name)(self._read(name))

    def _read(self, name: str) -> Callable[..., Response[str]]:
        def answer(**path: str) -> Response[str]:
            return json(self.answers.answer(name, path, self.arguments, self.document))

        return answer

    def page(self, function: Callable[[], Response[str]]) -> None:
        """Make a function answer `GET /` with a page for people. The page's script reads the query string.

        A request that accepts JSON and no HTML still gets the answer for programs.
        """
        self._page = function

    def _page_asked_for(self) -> Response[str] | None:
        """The page, where there is one. A request with the page's query string is told that there is none."""
        accepted = (self.event.get("headers") or {}).get("accept", "")
        if "application/json" in accepted and "text/html" not in accepted:
            return None
        if self._page is None and self.event.get("rawQueryString"):
            raise NotFoundError("no-such-path", "No such path", "there is no live page at /, for reads are not open")
        return self._page and self._page()

    def handle(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """Answer an HTTP request in API Gateway's payload format 2.0. This is the Lambda function's handler.

        Who may invoke the function can pass it anything: what is no such request is answered with 400.
        """
        if (field := _wrong_field(event)) is not None:
            detail = f"expected a request in API Gateway's payload format 2.0; {field} is missing or of another type"
            refused = request_error(bad_argument("event", detail))
            return {"statusCode": refused.status_code, "headers": refused.headers, "body": refused.body}
        logger.debug("request", extra={"path": event.get("rawPath")})
        return self.resolve(event, context)

    def resolve(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """Answer an HTTP request: `{"statusCode": 200, "headers": {…}, "body": "…"}`. A `HEAD` gets no body."""
        http = event["requestContext"]["http"]
        if http["method"] == "OPTIONS":
            return preflight()
        if http["method"] == "HEAD":
            answer = self.resolve(
                {**event, "requestContext": {**event["requestContext"], "http": {**http, "method": "GET"}}}, context
            )
            return {**answer, "body": ""}
        answer = self._app.resolve(event, context)
        if http["method"] != "GET" or answer["statusCode"] != 200:  # noqa: PLR2004 - OK
            return answer
        return with_etag(answer, event.get("headers") or {})

    def _given(self, known: Mapping[str, Argument]) -> Arguments:
        """The arguments of the query string. InvalidArgumentError names one that is wrong, missing or unknown."""
        # Not `queryStringParameters`: it joins repeated values with a comma, which a member's id may contain.
        query_string = self._app.current_event.raw_event.get("rawQueryString", "")
        try:
            return Arguments(known, parse_qsl(query_string, keep_blank_values=True, errors="strict"))
        except UnicodeDecodeError as error:
            raise bad_argument("query", f"expected UTF-8, got {error}") from error

    @property
    def event(self) -> dict[str, Any]:
        """The request that is being answered, in API Gateway's payload format 2.0."""
        return self._app.current_event.raw_event

    def body(self) -> bytes:
        """The body of the request, empty if there is none. InvalidBodyError if it is not the base64 it claims to be."""
        event = self._app.current_event.raw_event
        text = event.get("body") or ""
        try:
            return b64decode(text, validate=True) if event.get("isBase64Encoded") else text.encode()
        except ValueError as error:
            raise InvalidBodyError(f"cannot be read: {error}") from error

    def document(self) -> Any:
        """The body of the request, parsed as JSON, such as `{"hidden": True}`. InvalidBodyError if it is none."""
        try:
            return orjson.loads(self.body())
        except orjson.JSONDecodeError as error:
            raise InvalidBodyError(f"expected JSON, got {error}") from error

    def _no_such_call(self, _: powertools.NotFoundError) -> Response[str]:
        path, method = self._app.current_event.path, self._app.current_event.http_method
        allowed = {known for known, route in self._routes if _matches(path, route)}
        if "GET" in allowed:
            allowed.add("HEAD")
        # A known path with a known method comes here only if a name in it has a character that no name can have.
        if not allowed or method in allowed:
            error = NotFoundError("no-such-path", "No such path", f"there is nothing at {shown(path)}")
            return request_error(error)
        names = ", ".join(sorted(allowed))
        return method_not_allowed(f"{shown(path)} takes {names}, not {shown(method)}", names)


_REQUIRED: Final = {
    "rawPath": str,
    "requestContext": dict,
    "requestContext.stage": str,
    "requestContext.http": dict,
    "requestContext.http.method": str,
}
_OPTIONAL: Final = {
    "rawQueryString": str,
    "headers": dict,
    "body": str,
    "isBase64Encoded": bool,
    "requestContext.authorizer": dict,
    "requestContext.authorizer.jwt": dict,
    "requestContext.authorizer.jwt.claims": dict,
}


def _wrong_field(event: Any) -> str | None:
    """The first field for which an event is no request, such as `requestContext.http`; None if it is one."""
    for path, kind in {**_REQUIRED, **_OPTIONAL}.items():
        value = event
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if not (isinstance(value, kind) or (value is None and path in _OPTIONAL)):
            return path
    headers = (event.get("headers") or {}).values()
    return None if all(isinstance(text, str) for text in headers) else "headers"


def _without_text_of_bugs(function: _Answer) -> _Answer:
    """Raise an internal error without its text: Powertools and Lambda log it, and it may quote what a client sent."""

    @wraps(function)
    def answer(**names: str) -> Response[str]:
        try:
            return function(**names)
        except (RequestError, StoreUnavailableError):
            raise
        except Exception as bug:  # noqa: BLE001 - it is raised again
            raise stack_of(bug) from None

    return cast("_Answer", answer)


def _with_max_age(function: _Answer, max_age: int) -> _Answer:
    """Let caches keep the answers for `max_age` seconds. Errors are raised, so no cache keeps them."""

    @wraps(function)
    def answer(**names: str) -> Response[str]:
        return with_max_age(function(**names), max_age)

    return cast("_Answer", answer)


def _matches(path: str, route: str) -> bool:
    parts, names = path.split("/"), route.split("/")
    return len(parts) == len(names) and all(
        bool(part) if name.startswith("<") else part == name for part, name in zip(parts, names, strict=True)
    )
