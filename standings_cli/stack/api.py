"""Calls a stack's HTTP API. Requests are signed for AWS IAM, carry a token, or neither."""

import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from standings_cli.stack.backoff import backoff
from standings_cli.stack.errors import ApiError, NoAnswerError
from standings_cli.stack.transport import Request

if TYPE_CHECKING:
    from botocore.credentials import Credentials

_ATTEMPTS: Final = 5
_FIRST_RETRY_S: Final = 0.5
_MAX_RETRY_S: Final = 4.0
_RETRIED: Final = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Signature:
    """The credentials and region that requests are signed with."""

    credentials: "Credentials"
    region: str

    def sign(self, request: Request) -> None:
        """Add the headers of AWS Signature Version 4."""
        from botocore.auth import SigV4Auth  # noqa: PLC0415 - it takes longer to import than all the rest
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - the same

        signed = AWSRequest(request.method, request.url, request.headers, request.data)
        # A role's credentials are renewed now and then: each attempt reads them again, all at once.
        SigV4Auth(self.credentials.get_frozen_credentials(), "execute-api", self.region).add_auth(signed)
        request.headers = dict(signed.headers.items())


@dataclass(frozen=True, slots=True)
class Api:
    """The API at an address. Requests carry the `token` (JWT) if there is one, else the `signature` if there is one.

    A request that gets no answer or a temporary error is sent again, five times in all, with growing random waits.
    """

    url: str
    session: Any
    signature: Signature | None = None
    token: str | None = None
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def read(self, *path: str, **arguments: str | int | None) -> dict[str, Any]:
        """Return the answer at a path. Arguments that are None are left out. Raises ApiError and NoAnswerError."""
        status, content = self._exchange(Request("GET", self._address(path, arguments)))
        if status != HTTPStatus.OK:
            raise _error(status, content)
        return self._parsed(status, content)

    def put(self, *path: str, body: Mapping[str, Any] | None = None, **arguments: str) -> dict[str, Any]:
        """Send a PUT, which may be sent twice, and return the answer. Raises ApiError and NoAnswerError."""
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if data else {}
        status, content = self._exchange(Request("PUT", self._address(path, arguments), headers, data))
        if status != HTTPStatus.OK:
            raise _error(status, content)
        return self._parsed(status, content)

    def delete(self, *path: str, **arguments: str) -> None:
        """Send a DELETE. If its first answer was lost, the second may be that there is nothing any more.

        Raises ApiError and NoAnswerError.
        """
        status, content = self._exchange(Request("DELETE", self._address(path, arguments)))
        if status != HTTPStatus.NO_CONTENT:
            raise _error(status, content)

    def _parsed(self, status: int, content: bytes) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = json.loads(content)
        except ValueError as error:
            raise ApiError(status, "", f"{self.url} is not the API of a stack: expected JSON, {error}") from error
        return answer

    def _address(self, path: tuple[str, ...], arguments: Mapping[str, str | int | None]) -> str:
        for name in path:
            if name in ("", ".", ".."):
                raise ApiError(HTTPStatus.NOT_FOUND, "no-such-path", f"expected a name, got {name!r}")
        query = {name: str(value) for name, value in arguments.items() if value is not None}
        try:
            # All but unreserved characters are encoded once, a space as %20. The signature covers exactly what is
            # sent; of the path it covers the encoded form encoded again, as every service but S3 requires.
            # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
            suffix = f"?{urlencode(query, quote_via=quote)}" if query else ""
            return f"{self.url.rstrip('/')}/{'/'.join(quote(name, safe='') for name in path)}{suffix}"
        except UnicodeEncodeError as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, "bad-argument", f"expected UTF-8, got {error.object!r}") from error

    def _exchange(self, request: Request) -> tuple[int, bytes]:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                answer = self._send(request)
                if answer.status_code not in _RETRIED or attempt == _ATTEMPTS:
                    break
            except NoAnswerError as error:
                if attempt == _ATTEMPTS or not error.is_temporary:
                    raise
            self.sleep(backoff(attempt, _FIRST_RETRY_S, _MAX_RETRY_S, self.chance))
        return answer.status_code, answer.content

    def _send(self, unsigned: Request) -> Any:
        request = Request(unsigned.method, unsigned.url, dict(unsigned.headers), unsigned.data)
        if self.token is not None:
            request.headers["Authorization"] = f"Bearer {self.token}"
        elif self.signature is not None:
            self.signature.sign(request)
        return self.session.send(request)


def _error(status: int, content: bytes) -> ApiError:
    """Make an error of a problem document of the API, or of the gateway's own message."""
    try:
        problem = json.loads(content)
        kind, detail = str(problem.get("type", "")), problem.get("detail") or problem.get("message")
    except (ValueError, AttributeError):
        kind, detail = "", None
    text = str(detail or content.decode(errors="replace")[:200] or "no details")
    if not kind:
        text = f"HTTP {status}: {text}"
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            text += ": this call needs an AWS IAM signature (--profile) or a token with its scope (--token)"
    return ApiError(status, kind.removeprefix("urn:standings:"), text)
