"""Calls a stack's HTTP API, and its function URL. Requests are signed for AWS IAM, carry a token, or neither."""

import json
import os
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote, urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.exceptions import HTTPError, LocationValueError, ProxySchemeUnknown, SSLError

from standings.client.errors import ApiError, NoAnswerError, StackError, error_of
from standings.runtime.clock import backoff

if TYPE_CHECKING:
    from botocore.credentials import Credentials

_FIRST_RETRY_S: Final = 0.5
_MAX_RETRY_S: Final = 4.0
_RETRIED: Final = frozenset({429, 500, 502, 503, 504})
_TIMEOUT_S: Final = 35
_API: Final = re.compile(r"\.execute-api\.([a-z0-9-]+)\.amazonaws\.")
_FUNCTION_URL: Final = re.compile(
    r"https?://(?:[^/?#]+\.lambda-url\.([a-z0-9-]+)\.on\.aws(?=[:/?#]|$)|[^/?#]+/_aws/lambda-url/)", re.IGNORECASE
)
"""The address of a function: `https://a1b2c3.lambda-url.eu-central-1.on.aws`, or that of a local AWS."""
_REGION: Final = "us-east-1"
_MAX_KEPT: Final = 32  # connections to an address


@dataclass(frozen=True, slots=True)
class Api:
    """The API at an address. Requests carry the `token` (JWT) if there is one, else the `signature` if there is one.

    Reads go to `function_url` if there is one, signed: it takes no tokens. A request without an answer, or with a
    temporary error, is sent again after a growing random wait, up to `attempts` times in all.
    """

    url: str
    transport: "Transport"
    signature: "Signature | None" = None
    token: str | None = None
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random
    attempts: int = 5
    function_url: str | None = None

    def read(self, *path: str, **arguments: str | int | None) -> dict[str, Any]:
        """Return the answer at a path, as in `read("boards", limit=2)`. Raises ApiError and NoAnswerError."""
        return self.answer("GET", path, arguments)

    def put(self, *path: str, body: Mapping[str, Any] | None = None, **arguments: str) -> dict[str, Any]:
        """Send a PUT, which may be sent twice, and return the answer. Raises ApiError and NoAnswerError."""
        return self.answer("PUT", path, arguments, b"" if body is None else json.dumps(body).encode())

    def delete(self, *path: str, **arguments: str) -> None:
        """Send a DELETE. If its answer was lost, the next one may be NotFound. Raises ApiError and NoAnswerError."""
        self.answer("DELETE", path, arguments)

    def answer(
        self, method: str, path: Sequence[str], arguments: Mapping[str, str | int | None], data: bytes = b""
    ) -> dict[str, Any]:
        """Send a request, and return the answer. It may be sent twice. Raises ApiError and NoAnswerError."""
        # The status of an event is a call of the command function, which has no function URL.
        is_read = method in ("GET", "POST") and "events" not in path[:1]
        base = self.function_url if is_read and self.function_url is not None else self.url
        status, content = self._exchange(method, self._address(base, path, arguments), data)
        if status not in (HTTPStatus.OK, HTTPStatus.ACCEPTED, HTTPStatus.NO_CONTENT):
            raise _error(base, status, content, has_token=self.token is not None)
        try:
            answer: dict[str, Any] = json.loads(content or b"{}")
        except ValueError as error:
            raise ApiError(status, "", f"{base} is not the API of a stack: expected JSON, {error}") from error
        return answer

    def _address(self, base: str, path: Sequence[str], arguments: Mapping[str, str | int | None]) -> str:
        for name in path:
            if name in ("", ".", ".."):
                raise error_of(HTTPStatus.NOT_FOUND, "no-such-path", f"expected a name, got {name!r}")
        query = {name: str(value) for name, value in arguments.items() if value is not None}
        try:
            # All but unreserved characters are encoded once, a space as %20. The signature covers exactly what is
            # sent; of the path it covers the encoded form encoded again, as every service but S3 requires.
            # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
            suffix = f"?{urlencode(query, quote_via=quote)}" if query else ""
            return f"{base.rstrip('/')}/{'/'.join(quote(name, safe='') for name in path)}{suffix}"
        except UnicodeEncodeError as error:
            raise error_of(HTTPStatus.BAD_REQUEST, "bad-argument", f"expected UTF-8, got {error.object!r}") from error

    def _exchange(self, method: str, url: str, data: bytes) -> tuple[int, bytes]:
        for attempt in range(1, self.attempts + 1):
            try:
                answer = self.transport.send(method, url, self._headers(method, url, data), data)
                if answer.status not in _RETRIED or attempt == self.attempts:
                    break
            except NoAnswerError as error:
                if attempt == self.attempts or not error.is_temporary:
                    raise
            self.sleep(backoff(attempt, _FIRST_RETRY_S, _MAX_RETRY_S, self.chance))
        return answer.status, answer.data

    def _headers(self, method: str, url: str, data: bytes) -> dict[str, str]:
        headers = {"Accept": "application/json"}
        if data:
            # CloudFront signs requests to a function URL, but does not hash their bodies.
            headers |= {"Content-Type": "application/json", "X-Amz-Content-SHA256": sha256(data).hexdigest()}
        if self.token is not None and not is_function_url(url):
            return headers | {"Authorization": f"Bearer {self.token}"}
        return headers if self.signature is None else self.signature.headers(method, url, headers, data)


_FOR_THE_API: Final = "an AWS IAM signature (--profile) or a token with its scope (--token)"
_FOR_A_FUNCTION_URL: Final = (
    "an AWS IAM signature (--profile) of a caller who may lambda:InvokeFunctionUrl and lambda:InvokeFunction, as the "
    "policy FunctionUrlPolicyArn of the stack says; a function URL takes no token"
)
_NOT_ACCEPTED: Final = (
    "the token that was given was not accepted: it may have expired, be of another issuer or audience, or lack the "
    "scope of this call"
)


def _error(base: str, status: int, content: bytes, *, has_token: bool) -> ApiError:
    """Make an error from a problem document of the API, or from the message of the gateway or of Lambda."""
    try:
        problem = json.loads(content)
        told = (problem.get(name) for name in ("detail", "message", "Message"))
        kind, detail = str(problem.get("type", "")), next(filter(None, told), None)
    except (ValueError, AttributeError):
        kind, detail = "", None
    text = str(detail or content.decode(errors="replace")[:200] or "no details")
    if not kind:
        text = f"HTTP {status}: {text}"
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            needs = f"this call needs {_FOR_A_FUNCTION_URL if is_function_url(base) else _FOR_THE_API}"
            text += f": {_NOT_ACCEPTED if has_token and not is_function_url(base) else needs}"
    return error_of(status, kind.removeprefix("urn:standings:"), text)


class Transport:
    """Connections to addresses, through the environment's proxies unless `local`. Threads may share it."""

    def __init__(self, *, local: bool = False) -> None:
        self._proxies = {} if local else getproxies()
        self._trusted = _trusted()
        self._pools: dict[str | None, urllib3.PoolManager] = {}

    def send(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, data: bytes = b""
    ) -> urllib3.BaseHTTPResponse:
        """Send a request once, without redirects, and return its answer. Raises NoAnswerError, StackError."""
        parts = urlsplit(url)
        proxy = None if proxy_bypass(parts.netloc) else self._proxies.get(parts.scheme)
        try:
            if proxy not in self._pools:
                self._pools[proxy] = self._pool(proxy)
            request = self._pools[proxy].request
            return request(method, url, body=data or None, headers=headers, redirect=False, retries=False)
        except SSLError as error:
            where = self._trusted or "the system"
            advice = f"the trusted certificates are those of {where}: set AWS_CA_BUNDLE to a file of others (PEM)"
            raise NoAnswerError(f"no answer from {url}: {error}; {advice}", is_temporary=False) from error
        except HTTPError as error:
            is_mistake = isinstance(error, LocationValueError)
            raise NoAnswerError(f"no answer from {url}: {error}", is_temporary=not is_mistake) from error

    def _pool(self, proxy: str | None) -> urllib3.PoolManager:
        settings: dict[str, Any] = {"timeout": _TIMEOUT_S, "maxsize": _MAX_KEPT, "ca_certs": self._trusted}
        if proxy is None:
            return urllib3.PoolManager(**settings)
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        user = None if parts.username is None else f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers = urllib3.make_headers(proxy_basic_auth=user)
        try:
            return urllib3.ProxyManager(parts.geturl(), proxy_headers=headers, **settings)
        except ProxySchemeUnknown as error:
            expected = "expected an address such as http://proxy:3128"
            raise StackError(f"HTTP_PROXY, HTTPS_PROXY: {expected}, got {parts.scheme}:") from error


def _trusted() -> str | None:
    """The file of trusted certificates: the one that the environment names, else botocore's."""
    named = os.environ.get("AWS_CA_BUNDLE") or os.environ.get("REQUESTS_CA_BUNDLE")
    botocore = find_spec("botocore")
    of_botocore = Path(str(botocore and botocore.origin)).with_name("cacert.pem")
    return named or (str(of_botocore) if of_botocore.exists() else None)


@dataclass(frozen=True, slots=True)
class Signature:
    """The credentials and region that requests are signed with."""

    credentials: "Credentials"
    region: str

    def headers(self, method: str, url: str, headers: Mapping[str, str], data: bytes) -> dict[str, str]:
        """Return the headers with those of AWS Signature Version 4, such as `{"X-Amz-Date": "20261121T101500Z", …}`."""
        from botocore.auth import SigV4Auth  # noqa: PLC0415 - it takes longer to import than all the rest
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - the same

        signed = AWSRequest(method, url, headers, data)
        service = "lambda" if is_function_url(url) else "execute-api"
        # A role's credentials are renewed now and then: each attempt reads them again, all at once.
        SigV4Auth(self.credentials.get_frozen_credentials(), service, self.region).add_auth(signed)
        return dict(signed.headers.items())


def signature(credentials: "Credentials | None", url: str, region: str | None) -> Signature | None:
    """The signature for an address, in the address's region or else the configured one; None without credentials."""
    in_address = _API.search(url) or _FUNCTION_URL.match(url)
    region = (in_address and in_address[1]) or region or _REGION
    return None if credentials is None else Signature(credentials, region)


def needs_signature(token: str | None, *urls: str | None) -> bool:
    """Whether some request to these addresses is signed: each without a token, and those to a function URL with one."""
    return not token or any(url is not None and is_function_url(url) for url in urls)


def is_function_url(url: str) -> bool:
    """Whether an address is that of a function, without API Gateway: its signatures are for the service `lambda`."""
    return bool(_FUNCTION_URL.match(url))


def local_address(endpoint: str, api_id: str) -> str:
    """The address of an API of a local AWS, at its own host: `http://localhost:4566/_aws/execute-api/abc123`."""
    return f"{endpoint}/_aws/execute-api/{api_id}"


def local_function_url(endpoint: str, url: str) -> str:
    """The same of a function URL: `http://localhost:4566/_aws/lambda-url/a1b2c3`."""
    return f"{endpoint}/_aws/lambda-url/{urlsplit(url).netloc.partition('.')[0]}"
