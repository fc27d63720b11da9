"""Serves the functions over HTTP on loopback, as API Gateway does: payload format 2.0, routes as in template.yaml.

Below `/_aws/lambda-url/` it is the function URL of the query function, which takes signed requests alone, as with
`FunctionUrl=iam`. Below `/_aws/execute-api/` it is the API, where the client looks for that of a local AWS.
"""

import re
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import unquote

from tests.support.aws.servers import listening
from tests.support.aws.stack import Stack, http_event, url_event
from tests.support.awslambda.pollers import Context

_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY")
_PREFIX: Final = re.compile(r"/_aws/(lambda-url|execute-api)/[^/]+")
_SIGNED: Final = re.compile(r"AWS4-HMAC-SHA256 Credential=[^,]+/lambda/aws4_request,")
_FORBIDDEN: Final = {"statusCode": 403, "body": '{"Message":"Forbidden"}'}
_TEXT: Final = re.compile(r"text/|application/(json|xml|javascript)")


@dataclass
class Gateway:
    """The address of the functions, and the tracebacks of exceptions that they raised."""

    address: str
    raised: list[str] = field(default_factory=list)


@contextmanager
def serving(stack: Stack) -> Iterator[Gateway]:
    """Serve the functions of a stack over HTTP, one request at a time, until the block ends."""
    server = _Server(stack)
    with listening(server):
        yield server.gateway


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, stack: Stack) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.gateway = Gateway(f"http://127.0.0.1:{self.server_port}")
        self._stack = stack
        self._one_at_a_time = threading.Lock()

    def invoke(self, event: dict[str, Any]) -> dict[str, Any]:
        """Route an event as the template does. Return the function's answer, or 500 if the function raises."""
        function = self._stack.function(event["requestContext"]["http"]["method"], event["rawPath"])
        if "domainName" in event["requestContext"]:
            if not _SIGNED.match(event["headers"].get("authorization", "")):
                return _FORBIDDEN
            function = self._stack.query
        try:
            with self._one_at_a_time:
                return function(event, Context())
        except Exception:  # noqa: BLE001 - the gateway keeps serving; tests check `raised`
            self.gateway.raised.append(traceback.format_exc())
            return {"statusCode": 500, "body": '{"message":"Internal Server Error"}'}


class _Request(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def answer(self) -> None:
        answer = self.server.invoke(self._event())
        body = (answer.get("body") or "").encode()
        self.send_response(answer["statusCode"])
        for name, value in answer.get("headers", {}).items():
            self.send_header(name, value)
        if answer["statusCode"] != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _event(self) -> dict[str, Any]:
        path, _, query = self.path.partition("?")
        headers = {name.lower(): ",".join(self.headers.get_all(name, [])) for name in self.headers}
        body: Any = self.rfile.read(int(headers.get("content-length", 0))) or None
        if body and _TEXT.match(headers.get("content-type", "")):
            body = body.decode(errors="replace")
        prefix = _PREFIX.match(path)
        path = path.removeprefix(prefix[0] if prefix else "")
        if prefix and prefix[1] == "lambda-url":
            return {**url_event("", query, self.command, body), "rawPath": path, "headers": headers}
        # API Gateway decodes the path before it calls a function: `%2F` arrives as a slash.
        event = http_event(unquote(path, errors="replace"), query, self.command, body)
        return {**event, "headers": headers}

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server calls it so
        """Do not log requests."""


for _method in _METHODS:
    setattr(_Request, f"do_{_method}", _Request.answer)
