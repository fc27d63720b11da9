"""The HTTP API: what answers a call of `standings.calls`, responses and problems, and the live page."""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import parse_qsl, unquote

import orjson

from standings import calls
from standings.domain import zones
from standings.domain.errors import InvalidBodyError, NotFoundError, RequestError, bad_argument
from standings.runtime.logs import logger, stack_of
from standings.stores import StoreUnavailableError

if TYPE_CHECKING:
    from standings.read.dispatch import Answers

_Answer = TypeVar("_Answer", bound="Callable[..., Response]")


class Api:
    """The calls that one Lambda function answers: `api = Api(60)`, then `api.answer_from(answers)`, then `api.handle`.

    Browsers and a CDN may reuse the answer to a read of a ranking for `rankings_max_age` seconds; with 0 they send each
    request. `arguments` has the arguments of the request that is being answered.
    """

    arguments: calls.Arguments
    event: dict[str, Any]  # The request that is being answered, in payload format 2.0: `{"rawPath": "/boards", …}`

    def __init__(self, rankings_max_age: int = 0) -> None:
        self._rankings_max_age = rankings_max_age
        self._pages: dict[str, Callable[[], Response]] = {}
        self._routes: dict[str, Callable[..., Response]] = {}

    def route(self, name: str) -> Callable[[_Answer], _Answer]:
        """Make the decorated function answer a call of `CALLS`: `@api.route("postEvents")`.

        It is called with the names in the path, such as `board="berlin-2026"`, once the arguments are checked. Any
        other error becomes an InternalError without its text, which may quote what a client sent.
        """

        def add(function: _Answer) -> _Answer:
            self._routes[name] = function
            return function

        return add

    def answer_from(self, answers: "Answers") -> None:
        """Answer every read from the tables: `listRanking`, `getRank` and the others."""
        self.answers = answers
        for name in answers.reads:
            self.route(name)(partial(self._read, name))

    def _read(self, name: str, **path: str) -> "Response":
        return json(self.answers.answer(name, path, self.arguments, self.document))

    def page(self, path: str, function: Callable[[], "Response"]) -> None:
        """Make a function answer `GET /` or `/admin` with a page, unless a program asks. Its script reads the query."""
        self._pages[path] = function

    def _page_asked_for(self) -> "Response | None":
        """The page, unless a program asks. Raises NotFoundError for the page's query string where there is no page."""
        accepted = (self.event.get("headers") or {}).get("accept", "")
        if "application/json" in accepted and "text/html" not in accepted:
            return None
        if "/" in self._pages:
            return self._pages["/"]()
        if self.event.get("rawQueryString"):
            raise NotFoundError("no-such-path", "No such path", "there is no live page at /, for reads are not open")
        return None

    def handle(self, event: dict[str, Any], _context: Any) -> dict[str, Any]:
        """Answer an HTTP request in API Gateway's payload format 2.0. This is the Lambda function's handler.

        The answer is `{"statusCode": 200, "headers": {…}, "body": "…"}`, for the API and for a function URL. A `HEAD`
        gets no body. The answer to a preflight request (CORS) is empty: the gateway adds the headers that `CorsOrigins`
        allows. Who may invoke the function can pass it anything: what is no such request is answered with 400.
        """
        if (field := _wrong_field(event)) is not None:
            detail = f"expected a request in API Gateway's payload format 2.0; {field} is missing or of another type"
            refused = _problem(calls.problem_of(bad_argument("event", detail)))
            return {"statusCode": refused.status_code, "headers": refused.headers, "body": refused.body}
        if _FUNCTION_URL in (event["requestContext"].get("domainName") or ""):
            event = {**event, "rawPath": unquote(event["rawPath"])}  # API Gateway decodes the path, a function URL not
        logger.debug("request", extra={"path": event["rawPath"]})
        if (method := event["requestContext"]["http"]["method"]) == "OPTIONS":
            return {"statusCode": 204, "headers": {}, "body": ""}
        self.event = event
        response = self._answered(_path(event), method)
        answer: dict[str, Any] = {
            "statusCode": response.status_code,
            "headers": ({"Content-Type": response.content_type} if response.content_type else {}) | response.headers,
            "body": response.body,
            "isBase64Encoded": False,
        }
        if method in ("GET", "HEAD") and answer["statusCode"] == 200:  # noqa: PLR2004 - OK
            answer = _with_etag(answer, (event.get("headers") or {}).get("if-none-match", ""))
        return answer if method != "HEAD" else {**answer, "body": ""}

    def _given(self, known: Mapping[str, calls.Argument]) -> calls.Arguments:
        """The arguments of the query string. InvalidArgumentError names one that is wrong, missing or unknown."""
        # Not `queryStringParameters`: it joins repeated values with a comma, which a member's id may contain.
        query_string = self.event.get("rawQueryString", "")
        try:
            return calls.Arguments(known, parse_qsl(query_string, keep_blank_values=True, errors="strict"))
        except UnicodeDecodeError as error:
            raise bad_argument("query", f"expected UTF-8, got {error}") from error

    def body(self) -> bytes:
        """The body of the request, empty if there is none. InvalidBodyError if it is not the base64 it claims to be."""
        text = self.event.get("body") or ""
        try:
            return b64decode(text, validate=True) if self.event.get("isBase64Encoded") else text.encode()
        except ValueError as error:
            raise InvalidBodyError(f"cannot be read: {error}") from error

    def document(self) -> Any:
        """The body of the request, parsed as JSON, such as `{"hidden": True}`. InvalidBodyError if it is none."""
        try:
            return orjson.loads(self.body())
        except orjson.JSONDecodeError as error:
            raise InvalidBodyError(f"expected JSON, got {error}") from error

    def _answered(self, path: str, method: str) -> "Response":
        wanted = "GET" if method == "HEAD" else method
        try:
            for name, function in self._routes.items():
                call = calls.CALLS[name]
                names = _names(call.path, path) if call.method == wanted else None
                if names is not None and all(map(_NAME.fullmatch, names.values())):
                    return self._called(call, function, names)
            if path == ADMIN_PAGE and wanted == "GET" and path in self._pages:
                return self._pages[path]()
        except RequestError as error:
            return _problem(calls.problem_of(error))
        except StoreUnavailableError as error:
            logger.error("the store did not answer", extra={"reason": str(error)})  # It is throttled or down
            return _problem(calls.UNAVAILABLE, {"Retry-After": str(calls.RETRY_AFTER_S)})
        except Exception as bug:  # noqa: BLE001 - it is raised again
            raise stack_of(bug) from None
        return _no_such_call(path, wanted, self._routes)

    def _called(self, call: calls.Call, function: Callable[..., "Response"], names: Mapping[str, str]) -> "Response":
        if call.path == "/" and (page := self._page_asked_for()) is not None:
            return page
        self.arguments = self._given(call.arguments)
        response = function(**names)
        if call.method == "GET" and call.path.startswith(calls.RANKING) and self._rankings_max_age > 0:
            # With `CorsOrigins` the gateway adds the origin of the page that sent the request. A browser refuses a
            # response that names another origin, so caches keep one for each.
            response.headers |= {"Cache-Control": f"public, max-age={self._rankings_max_age}", "Vary": "Origin"}
        return response


@dataclass
class Response:
    """An answer to a request: `Response(200, "application/json", "{}")`."""

    status_code: int
    content_type: str = ""
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)


_NAME: Final = re.compile(r"[-._~()'!*:@,;=+&$%<> \[\]{}|^\w]+")  # In a path; gateways pass some of these decoded


def _names(call: str, path: str) -> dict[str, str] | None:
    """The names in the path of a call: `{"board": "berlin"}` in `/boards/berlin`. None if it is another call's path."""
    parts, given = call.split("/"), path.split("/")
    if len(parts) != len(given):
        return None
    names: dict[str, str] = {}
    for part, text in zip(parts, given, strict=True):
        if part.startswith("<") and text:
            names[part.strip("<>")] = text
        elif part != text:
            return None
    return names


def _path(event: Mapping[str, Any]) -> str:
    """The path of a request, without the stage that API Gateway puts before it: `/boards/berlin`.

    It is also without the path that a domain maps to the API, such as `/ranks`, or a CDN to the function URL. Nothing
    in the request names that: it is what stands before the path of a call.
    """
    path: str = event["rawPath"]
    stage, domain = event["requestContext"]["stage"], event["requestContext"].get("domainName") or _OF_API_GATEWAY
    path = path.removeprefix(f"/{stage}") if path.startswith(f"/{stage}/") else path
    return path if _OF_API_GATEWAY in domain else _below_a_mapping(path)


_OF_API_GATEWAY: Final = ".execute-api."  # In the host of each API that has no domain of its own
ADMIN_PAGE: Final = "/admin"
_PATHS: Final = (*(call.path for call in calls.CALLS.values()), ADMIN_PAGE)
_FIRST_NAMES: Final = frozenset(path.split("/")[1] for path in _PATHS) - {""}


def _below_a_mapping(path: str) -> str:
    """The path of a call: of `/ranks/boards/berlin` it is `/boards/berlin`, of `/ranks/` it is `/`. Others stay."""
    names = path.split("/")
    for begin in range(1, len(names)):
        rest = f"/{'/'.join(names[begin:])}"
        if all(names[1:begin]) and any(_names(known, rest) is not None for known in _PATHS):
            # `/boards/berlin/` is no call, and not the root of a domain either.
            return rest if rest != "/" or _FIRST_NAMES.isdisjoint(names) else path
    return path


def _no_such_call(path: str, method: str, answered: Collection[str]) -> Response:
    """404, or 405 for a path that has other methods.

    The gateway sends every call that does not exist to the query function, `PUT /events` too: so this goes by all. One
    that is `answered` here has a name that no name can be. One of another function came by a function URL.
    """
    allowed = {call.method: name for name, call in calls.CALLS.items() if _names(call.path, path) is not None}
    if method in allowed and allowed[method] not in answered:
        detail = f"this address does not take {method} {calls.short(path)}: send it to the stack's API (ApiUrl)"
        if allowed[method] == "doTask":
            detail += ", of a stack with AdminPage=true"
        return _problem(calls.Problem(404, "no-such-path", "No such path", detail))
    if "GET" in allowed:
        allowed["HEAD"] = allowed["GET"]
    if not allowed or method in allowed:
        return _problem(calls.Problem(404, "no-such-path", "No such path", f"there is nothing at {calls.short(path)}"))
    names = ", ".join(sorted(allowed))
    detail = f"{calls.short(path)} takes {names}, not {calls.short(method)}"
    return _problem(calls.Problem(405, "method-not-allowed", "Method not allowed", detail), {"Allow": names})


_FUNCTION_URL: Final = ".lambda-url."  # In the host of each: `a1b2c3.lambda-url.eu-central-1.on.aws`

_FIELDS: Final = {
    "rawPath": str,
    "requestContext": dict,
    "requestContext.stage": str,
    "requestContext.domainName": str | None,
    "requestContext.http": dict,
    "requestContext.http.method": str,
    "rawQueryString": str | None,
    "headers": dict | None,
    "body": str | None,
    "isBase64Encoded": bool | None,
    "requestContext.authorizer": dict | None,
    "requestContext.authorizer.jwt": dict | None,
    "requestContext.authorizer.jwt.claims": dict | None,
}


def _wrong_field(event: Any) -> str | None:
    """The first field for which an event is no request, such as `requestContext.http`; None if it is one."""
    for path, kind in _FIELDS.items():
        value = event
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if not isinstance(value, kind):
            return path
    headers = (event.get("headers") or {}).values()
    return None if all(isinstance(text, str) for text in headers) else "headers"


def json(answer: Any, status: int = 200) -> Response:
    """A response with an answer as JSON: `json({"status": "queued"}, 202)`."""
    return Response(status, "application/json", orjson.dumps(answer).decode())


def _with_etag(answer: dict[str, Any], known: str) -> dict[str, Any]:
    """A read with its ETag, such as `"5b1e…"`; 304 without a body if `known`, if-none-match, names it (RFC 9110)."""
    tag = f'"{blake2b(answer["body"].encode(), digest_size=12).hexdigest()}"'
    answer = {**answer, "headers": {"Cache-Control": "no-cache", **answer["headers"], "ETag": tag}}
    # A gateway that compresses the body marks the tag as weak.
    is_known = tag in (one.strip().removeprefix("W/") for one in known.split(","))
    return {**answer, "statusCode": 304, "body": ""} if is_known else answer


def _problem(problem: calls.Problem, headers: Mapping[str, str] = {}) -> Response:
    """A problem document (RFC 9457)."""
    status, kind, title, detail = problem
    document = {"type": f"urn:standings:{kind}", "title": title, "status": status, "detail": detail}
    # Without this header a CDN keeps a 404 for some seconds, so a board's first event would not show at once.
    headers = {"Cache-Control": "no-cache", **headers}
    return Response(status, "application/problem+json", orjson.dumps(document).decode(), dict(headers))


def html(page: str, picture_hosts: Sequence[str] = (), embed_origins: Sequence[str] = ()) -> Response:
    """A response with a page, which may only run its own script, use its own styles and request its own origin.

    It may load pictures from hosts such as `pictures.example`. Origins such as `https://club.example` may frame it.
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


_FILES: Final = re.compile(
    r'(?:<link rel="stylesheet" href="[a-z./]+\.css">\n)+|(?:<script src="[a-z./]+\.js"></script>\n)+'
)


def document(folder: Path, picture_hosts: Sequence[str] = ()) -> str:
    """A folder's `page.html` with its styles and scripts: one document, whose policy can name the hash of each."""

    def inlined(tags: re.Match[str]) -> str:
        names = re.findall(r'"([a-z./]+\.(?:css|js))"', tags[0])
        content = "".join((folder / name).read_text(encoding="utf-8") for name in names)
        element = "style" if tags[0].startswith("<link") else "script"
        return f"<{element}>\n{content}</{element}>\n"

    page = _FILES.sub(inlined, (folder / "page.html").read_text(encoding="utf-8"))
    # The policy blocks other hosts too. With the list the page does not even try them.
    for name, content in (("time-zones", zones.VERSION), ("picture-hosts", " ".join(picture_hosts))):
        page = page.replace(f'<meta name="{name}" content="">', f'<meta name="{name}" content="{content}">')
    return page
