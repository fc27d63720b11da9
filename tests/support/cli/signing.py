"""A server that keeps the bytes of requests, and the signature that each must have."""

import re
import socketserver
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.support.aws.servers import listening

SECRET: Final = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"  # noqa: S105 - of AWS's own examples
KEYS: Final = Credentials("AKIDEXAMPLE", SECRET, "a session's token")


class Raw(socketserver.ThreadingTCPServer):
    """Keeps the bytes of requests and who sent them, and gives the answers of a test.

    Status 0 hangs up, 1 hangs up within the body, 2 says nothing until the client hangs up. With `keeps` a connection
    stays open, until `hangs_up`, unsaid.
    """

    allow_reuse_address = True
    daemon_threads = True
    keeps = False
    hangs_up = False

    def __init__(self, *answers: tuple[int, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Raw)
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        self.requests: list[bytes] = []
        self.bodies: list[bytes] = []
        self.peers: list[Any] = []
        self.answers = list(answers)


class _Raw(socketserver.StreamRequestHandler):
    server: Raw

    def handle(self) -> None:
        while self._answer() and self.server.keeps and not self.server.hangs_up:
            pass

    def _answer(self) -> bool:
        """Answer a request; return whether there was one."""
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            line = self.rfile.readline()
            if not line:
                return False
            request += line
        self.server.requests.append(request)
        self.server.peers.append(self.client_address)
        if has_body := re.search(rb"Content-Length: ([0-9]+)", request):
            self.server.bodies.append(self.rfile.read(int(has_body[1])))
        status, body = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        if status == 2:
            self.rfile.read(1)
        elif status != 0:
            length = len(body.encode()) + (10 if status == 1 else 0)
            end = "" if self.server.keeps else "Connection: close\r\n"
            head = f"HTTP/1.1 {status if status > 1 else 200} Said\r\nContent-Length: {length}\r\n{end}\r\n"
            self.wfile.write(head.encode() + body.encode())
        return True


@contextmanager
def answering(*answers: tuple[int, str]) -> Iterator[Raw]:
    with listening(server := Raw(*answers)):
        yield server


def parts(request: bytes) -> tuple[bytes, dict[str, str]]:
    """Return the target and the headers of a raw request."""
    first, *lines = request.removesuffix(b"\r\n\r\n").split(b"\r\n")
    _, target, _ = first.split(b" ")
    headers = (line.decode().split(": ", 1) for line in lines)
    return target, {name.lower(): value for name, value in headers}


def expected_signature(
    request: bytes, region: str, method: str = "GET", body: bytes = b"", service: str = "execute-api"
) -> str:
    """Sign a raw request as it came, with botocore: the same headers, at the same time."""
    target, headers = parts(request)
    signed = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    assert {"host", "x-amz-date"} <= set(signed)
    given = {name: headers[name] for name in signed}
    again = AWSRequest(method, f"http://{headers['host']}{target.decode()}", given, body)
    again.context["timestamp"] = headers["x-amz-date"]
    auth = SigV4Auth(KEYS, service, region)
    return str(auth.signature(auth.string_to_sign(again, auth.canonical_request(again)), again))
