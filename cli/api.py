"""Asks a stack's HTTP API: signed for AWS IAM, with a token, or as anyone."""

import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.httpsession import URLLib3Session

_TIMEOUT_S: Final = 35
_ATTEMPTS: Final = 5
_LONGEST_NAP_S: Final = 4.0
_OK: Final = 200
_UNCHANGED: Final = 304
_AGAIN: Final = frozenset({429, 502, 503, 504})


class ApiError(Exception):
    """An answer that is none: `status` of HTTP, and `type` of a problem where the API names one."""

    def __init__(self, status: int, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Signature:
    """Whose requests these are."""

    credentials: Credentials
    region: str


@dataclass(frozen=True, slots=True)
class Api:
    """The API at an address. With a `token` (JWT) requests carry it, with a `signature` they are signed for IAM."""

    url: str
    signature: Signature | None = None
    token: str | None = None
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random
    session: Any = None

    def read(self, *path: str, **arguments: str | int | None) -> dict[str, Any]:
        """What the API answers at a path of names; arguments that are None are left out. Raises ApiError."""
        answer = self.look(None, *path, **arguments)
        if answer is None:
            raise ApiError(_UNCHANGED, "", "an answer without a body to a question without a tag")
        return answer[0]

    def look(
        self, tag: str | None, *path: str, **arguments: str | int | None
    ) -> tuple[dict[str, Any], str | None] | None:
        """The same with the answer's tag; None where the answer is still that of a tag. Raises ApiError."""
        given = {name: str(value) for name, value in arguments.items() if value is not None}
        # Spaces as %20: a signature is made over the encoded query.
        query = f"?{urlencode(given, quote_via=quote)}" if given else ""
        url = f"{self.url.rstrip('/')}/{'/'.join(quote(name, safe='') for name in path)}{query}"
        status, headers, content = self._get(url, {"If-None-Match": tag} if tag else {})
        if status == _UNCHANGED:
            return None
        if status != _OK:
            raise _error(status, content)
        found: dict[str, Any] = json.loads(content)
        return found, headers.get("ETag")

    def _get(self, url: str, headers: Mapping[str, str]) -> tuple[int, Mapping[str, str], bytes]:
        session = self.session or URLLib3Session(timeout=_TIMEOUT_S)
        for attempt in range(1, _ATTEMPTS + 1):
            request = AWSRequest("GET", url, headers=dict(headers))
            if self.token is not None:
                request.headers["Authorization"] = f"Bearer {self.token}"
            elif self.signature is not None:
                SigV4Auth(self.signature.credentials, "execute-api", self.signature.region).add_auth(request)
            answer = session.send(request.prepare())
            if answer.status_code not in _AGAIN or attempt == _ATTEMPTS:
                break
            self.sleep(min(2.0 ** (attempt - 2), _LONGEST_NAP_S) * (0.5 + self.chance() / 2))
        return answer.status_code, answer.headers, answer.content


def _error(status: int, content: bytes) -> ApiError:
    """What an answer says is wrong: a problem of the API's functions, or the gateway's own few words."""
    try:
        said = json.loads(content)
        kind, detail = str(said.get("type", "")), said.get("detail") or said.get("message")
    except (ValueError, AttributeError):
        kind, detail = "", None
    text = detail or content.decode(errors="replace")[:200] or "no words"
    if status in (401, 403) and not kind:
        text = f"{text}: reads of this stack need an AWS IAM signature (--profile) or a token (--token)"
    return ApiError(status, kind.removeprefix("urn:standings:"), f"HTTP {status}: {text}")
