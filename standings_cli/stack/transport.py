"""Sends HTTP requests, and keeps connections. It uses `http.client`, so that a read starts fast.

botocore's HTTP client takes eight times as long to import as Python takes to start, and urllib3 alone four times.
"""

import os
import select
import ssl
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from importlib.util import find_spec
from pathlib import Path
from typing import Final, cast
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from standings_cli.stack.errors import NoAnswerError, StackError

_TIMEOUT_S: Final = 35
_CERTIFICATES: Final = ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE")


@dataclass(slots=True)
class Request:
    """A request to an address, whose path and query are encoded."""

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer. Headers are found by their names in any case."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes


class Transport:
    """Connections to addresses, through the environment's proxies unless `local`. Threads may share it."""

    def __init__(self, *, local: bool = False) -> None:
        self._local = local
        self._idle: dict[str, list[HTTPConnection]] = {}

    def send(self, request: Request) -> Answer:
        """Send a request once, and return its answer. Redirects are not followed.

        Raises NoAnswerError, and StackError if the environment's proxy or certificates cannot be used.
        """
        try:
            connection, target = self._connection(request)
        except ssl.SSLError as error:
            raise NoAnswerError(f"SSL validation failed for {request.url} {error}", is_temporary=False) from error
        except (OSError, HTTPException) as error:
            raise NoAnswerError(f'Could not connect to the endpoint URL: "{request.url}" ({error})') from error
        except ValueError as error:
            raise NoAnswerError(f"{request.url} is no address: {error}", is_temporary=False) from error
        try:
            connection.request(request.method, target, request.data or None, request.headers)
            response = connection.getresponse()
            answer = Answer(response.status, cast("Mapping[str, str]", response.headers), response.read())
        except (OSError, HTTPException) as error:
            connection.close()
            raise NoAnswerError(
                f'Connection was closed before we received a valid response from endpoint URL: "{request.url}" '
                f"({error or type(error).__name__})"
            ) from error
        if connection.sock is not None:
            self._idle[_origin(urlsplit(request.url))].append(connection)
        return answer

    def _connection(self, request: Request) -> tuple[HTTPConnection, str]:
        """Return a connection for a request, kept or new, and what to ask for there."""
        parts = urlsplit(request.url)
        proxy = None if self._local or proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)
        target = request.url.removeprefix(_origin(parts)) or "/"
        if proxy and parts.scheme == "http":
            target = request.url
            request.headers |= _authorization(_proxy(proxy))
        idle = self._idle.setdefault(_origin(parts), [])
        while idle:
            connection = idle.pop()
            # What can be read before a request is the end of the connection.
            if not select.select([connection.sock], [], [], 0)[0]:
                return connection, target
            connection.close()
        connection = self._new(parts, None if proxy is None else _proxy(proxy))
        connection.connect()
        return connection, target

    def _new(self, parts: SplitResult, proxy: SplitResult | None) -> HTTPConnection:
        first = proxy or parts
        host = str(first.hostname)
        if parts.scheme == "http":
            return HTTPConnection(host, first.port or 80, timeout=_TIMEOUT_S)
        connection = HTTPSConnection(host, first.port or (443 if proxy is None else 80), timeout=_TIMEOUT_S,
                                     context=self._trusted)  # fmt: skip
        if proxy is not None:
            connection.set_tunnel(str(parts.hostname), parts.port or 443, _authorization(proxy))
        return connection

    @cached_property
    def _trusted(self) -> ssl.SSLContext:
        """Whom to trust: who stands in the file that the environment names, else whom AWS's clients trust."""
        name = next((name for name in _CERTIFICATES if os.environ.get(name)), None)
        if name is not None:
            try:
                return ssl.create_default_context(cafile=os.environ[name])
            except OSError as error:
                raise StackError(
                    f"{name}: expected a file of certificates (PEM), got {os.environ[name]!r}: {error}"
                ) from error
        botocore = find_spec("botocore")
        of_botocore = Path(str(botocore and botocore.origin)).with_name("cacert.pem")
        return ssl.create_default_context(cafile=of_botocore if of_botocore.exists() else None)


def _origin(parts: SplitResult) -> str:
    return f"{parts.scheme}://{parts.netloc}"


def _proxy(text: str) -> SplitResult:
    parts = urlsplit(text if "://" in text else f"http://{text}")
    if parts.scheme != "http" or not parts.hostname:
        raise StackError(f"HTTP_PROXY, HTTPS_PROXY: expected an address such as http://proxy:3128, got {parts.scheme}:")
    return parts


def _authorization(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(user.encode()).decode()}"}
