"""A server that keeps the bytes of requests, and the signature that each must have."""

import hashlib
import hmac
import re
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import unquote_to_bytes

from botocore.credentials import Credentials

SECRET: Final = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"  # noqa: S105 - of AWS's own examples
KEYS: Final = Credentials("AKIDEXAMPLE", SECRET, "a session's token")
_UNRESERVED: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"


class Raw(socketserver.ThreadingTCPServer):
    """Keeps the bytes of requests, and gives the answers of a test. Status 0 hangs up, 1 hangs up within the body."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, *answers: tuple[int, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Raw)
        self.requests: list[bytes] = []
        self.bodies: list[bytes] = []
        self.answers = list(answers)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Raw(socketserver.StreamRequestHandler):
    server: Raw

    def handle(self) -> None:
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            line = self.rfile.readline()
            if not line:
                return
            request += line
        self.server.requests.append(request)
        if has_body := re.search(rb"Content-Length: ([0-9]+)", request):
            self.server.bodies.append(self.rfile.read(int(has_body[1])))
        status, body = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        if status == 0:
            return
        length = len(body.encode()) + (10 if status == 1 else 0)
        head = f"HTTP/1.1 {status if status > 1 else 200} Said\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        self.wfile.write(head.encode() + body.encode())


@contextmanager
def answering(*answers: tuple[int, str]) -> Iterator[Raw]:
    with Raw(*answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def parts(request: bytes) -> tuple[bytes, dict[str, str]]:
    """Return the target and the headers of a raw request."""
    first, *lines = request.removesuffix(b"\r\n\r\n").split(b"\r\n")
    _, target, _ = first.split(b" ")
    headers = (line.decode().split(": ", 1) for line in lines)
    return target, {name.lower(): value for name, value in headers}


def encoded(text: bytes) -> str:
    """Encode all but unreserved characters as %XX."""
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in text)


def expected_signature(request: bytes, region: str, method: str = "GET", body: bytes = b"") -> str:
    """Compute the signature of a raw request from AWS's description of Signature Version 4, without botocore.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
    """
    target, headers = parts(request)
    path, _, query = target.partition(b"?")
    # The path as it came, encoded once more: "each path segment must be URI-encoded twice", but for S3.
    canonical_path = "/".join(encoded(segment) for segment in path.split(b"/"))
    pairs = [pair.partition(b"=") for pair in query.split(b"&")] if query else []
    # What the query means, encoded as the description has it: the same as came, if the client encodes so too.
    canonical_query = "&".join(
        sorted(f"{encoded(unquote_to_bytes(name))}={encoded(unquote_to_bytes(value))}" for name, _, value in pairs)
    )
    scheme, _, parameters = headers["authorization"].partition(" ")
    assert scheme == "AWS4-HMAC-SHA256"
    fields = dict(field.split("=", 1) for field in parameters.split(", "))
    day, at = headers["x-amz-date"][:8], headers["x-amz-date"]
    scope = f"{day}/{region}/execute-api/aws4_request"
    assert fields["Credential"] == f"{KEYS.access_key}/{scope}"
    signed = fields["SignedHeaders"].split(";")
    assert {"host", "x-amz-date"} <= set(signed)
    canonical_headers = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in signed)
    canonical = "\n".join(
        [method, canonical_path, canonical_query, canonical_headers, ";".join(signed), hashlib.sha256(body).hexdigest()]
    )
    to_sign = f"AWS4-HMAC-SHA256\n{at}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{SECRET}".encode()
    for part in (day, region, "execute-api", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.new(key, to_sign.encode(), "sha256").hexdigest()
