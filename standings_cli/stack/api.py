"""Asks a stack's HTTP API: signed for AWS IAM, with a token, or as anyone."""

import json
import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ConnectionClosedError, HTTPClientError, SSLError
from botocore.exceptions import ConnectionError as NoConnectionError
from botocore.httpsession import URLLib3Session
from botocore.utils import get_environ_proxies

LOST: Final = (HTTPClientError, NoConnectionError)
"""What it raises where no answer came."""

_TIMEOUT_S: Final = 35
_MAX_NAP_S_LENGTH: Final = 4.0
_OK: Final = 200
_UNCHANGED: Final = 304
_FAILED: Final = 500
_TOO_MANY: Final = 429
_AGAIN: Final = frozenset({_TOO_MANY, 500, 502, 503, 504})


class ApiError(Exception):
    """An answer that is none: `status` of HTTP, and `kind` of a problem where the API names one."""

    def __init__(self, status: int, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind

    @property
    def passes(self) -> bool:
        """Whether the same question may have an answer a little later."""
        return self.status >= _FAILED or self.status == _TOO_MANY


@dataclass(frozen=True, slots=True)
class Signature:
    """Whose requests these are."""

    credentials: Credentials
    region: str


def transport(url: str, *, local: bool = False) -> Any:
    """Connections to an address: by the environment's proxies, unless it is one of this machine."""
    trusted: Any = os.environ.get("AWS_CA_BUNDLE") or os.environ.get("REQUESTS_CA_BUNDLE") or True
    return URLLib3Session(verify=trusted, proxies={} if local else get_environ_proxies(url), timeout=_TIMEOUT_S)


@dataclass(frozen=True, slots=True)
class Api:
    """The API at an address. With a `token` (JWT) requests carry it, with a `signature` they are signed for IAM.

    What gets no answer, or one that may be another in a moment, is asked again with growing, jittered naps, in
    `attempts` all in all.
    """

    url: str
    session: Any
    signature: Signature | None = None
    token: str | None = None
    attempts: int = 5
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def read(self, *path: str, **arguments: str | int | None) -> dict[str, Any]:
        """What the API answers at a path of names; arguments that are None are left out. Raises ApiError and LOST."""
        answer = self.look(None, *path, **arguments)
        if answer is None:
            raise ApiError(_UNCHANGED, "", "an answer without a body to a question without a tag")
        return answer[0]

    def look(
        self, tag: str | None, *path: str, **arguments: str | int | None
    ) -> tuple[dict[str, Any], str | None] | None:
        """The same with the answer's tag; None where the answer is still that of a tag. Raises ApiError and LOST."""
        status, headers, content = self._get(self._address(path, arguments), {"If-None-Match": tag} if tag else {})
        if status == _UNCHANGED:
            return None
        if status != _OK:
            raise _error(status, content)
        try:
            found: dict[str, Any] = json.loads(content)
        except ValueError as error:
            raise ApiError(status, "", f"what answers at {self.url} is no API of Standings: {error}") from error
        return found, headers.get("ETag")

    def _address(self, path: tuple[str, ...], arguments: Mapping[str, str | int | None]) -> str:
        for name in path:
            if name in ("", ".", ".."):
                raise ApiError(404, "no-such-path", f"{name!r} is no name of anything")
        given = {name: str(value) for name, value in arguments.items() if value is not None}
        try:
            # All but unreserved characters are encoded, once, also spaces as %20: these very characters are signed and
            # sent. Of the path the signature has the encoded form encoded again, as all services but S3 want it, and
            # API Gateway's own messages of a wrong signature show.
            # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
            query = f"?{urlencode(given, quote_via=quote)}" if given else ""
            return f"{self.url.rstrip('/')}/{'/'.join(quote(name, safe='') for name in path)}{query}"
        except UnicodeEncodeError as error:
            raise ApiError(400, "bad-argument", f"{error.object!r} is no text: its bytes are no UTF-8") from error

    def _get(self, url: str, headers: Mapping[str, str]) -> tuple[int, Mapping[str, str], bytes]:
        for attempt in range(1, self.attempts + 1):
            try:
                answer = self._send(url, headers)
                if answer.status_code not in _AGAIN or attempt == self.attempts:
                    break
            except SSLError:
                raise
            except LOST:
                if attempt == self.attempts:
                    raise
            self.sleep(min(2.0 ** (attempt - 2), _MAX_NAP_S_LENGTH) * (0.5 + self.chance() / 2))
        return answer.status_code, answer.headers, answer.content

    def _send(self, url: str, headers: Mapping[str, str]) -> Any:
        request = AWSRequest("GET", url, headers=dict(headers))
        if self.token is not None:
            request.headers["Authorization"] = f"Bearer {self.token}"
        elif self.signature is not None:
            # Those of a role are renewed at times: they are taken together, and at each attempt.
            credentials = self.signature.credentials.get_frozen_credentials()
            SigV4Auth(credentials, "execute-api", self.signature.region).add_auth(request)
        answer = self.session.send(request.prepare())
        if answer.status_code == _OK and len(answer.content) < int(answer.headers.get("Content-Length", 0)):
            raise ConnectionClosedError(endpoint_url=url)
        return answer


def _error(status: int, content: bytes) -> ApiError:
    """What an answer says is wrong: a problem of the API's functions, or the gateway's own few words."""
    try:
        said = json.loads(content)
        kind, detail = str(said.get("type", "")), said.get("detail") or said.get("message")
    except (ValueError, AttributeError):
        kind, detail = "", None
    text = str(detail or content.decode(errors="replace")[:200] or "no words")
    if not kind:
        text = f"HTTP {status}: {text}"
        if status in (401, 403):
            text += ": reads of this stack need an AWS IAM signature (--profile) or a token (--token)"
    return ApiError(status, kind.removeprefix("urn:standings:"), text)
