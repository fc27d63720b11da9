"""Sends HTTP requests, and keeps connections. It uses `http.client`, so that a read starts fast.

botocore's HTTP client takes eight times as long to import as Python takes to start, and urllib3 alone four times.
"""

import os
import select
import ssl
from base64 import b64encode
from dataclasses import dataclass, field
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from standings_cli.stack.errors import NoAnswerError, StackError

_TIMEOUT_S: Final = 35
_PORTS: Final = {"http": 80, "https": 443}
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
    """A whole answer."""

    status_code: int
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
        parts = urlsplit(request.url)
        origin = f"{parts.scheme}://{parts.netloc}"
        target, headers = request.url.removeprefix(origin) or "/", request.headers
        proxy = self._proxy(parts)
        if proxy is not None and parts.scheme == "http":
            target, headers = request.url, headers | _authorization(proxy)
        idle = self._idle.setdefault(origin, [])
        try:
            connection = _kept(idle) or self._connect(parts, proxy)
        except ssl.SSLError as error:
            raise NoAnswerError(f"SSL validation failed for {request.url} {error}", is_temporary=False) from error
        except (OSError, HTTPException) as error:
            raise NoAnswerError(f'Could not connect to the endpoint URL: "{request.url}" ({error})') from error
        except ValueError as error:
            raise NoAnswerError(f"{request.url} is no address: {error}", is_temporary=False) from error
        try:
            connection.request(request.method, target, request.data or None, headers)
            response = connection.getresponse()
            answer = Answer(response.status, response.read())
        except (OSError, HTTPException) as error:
            connection.close()
            raise NoAnswerError(
                f'Connection was closed before we received a valid response from endpoint URL: "{request.url}" '
                f"({error or type(error).__name__})"
            ) from error
        except ValueError:
            connection.close()
            # Python's own message would show the token.
            raise NoAnswerError("the address or the token has a character that HTTP forbids: check --api-url and "
                                "--token", is_temporary=False) from None  # fmt: skip
        if connection.sock is not None:
            idle.append(connection)
        return answer

    def _proxy(self, parts: SplitResult) -> SplitResult | None:
        named = None if self._local or proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)
        if named is None:
            return None
        proxy = urlsplit(named if "://" in named else f"http://{named}")
        if proxy.scheme != "http" or not proxy.hostname:
            raise StackError(
                f"HTTP_PROXY, HTTPS_PROXY: expected an address such as http://proxy:3128, got {proxy.scheme}:"
            )
        return proxy

    def _connect(self, parts: SplitResult, proxy: SplitResult | None) -> HTTPConnection:
        first = proxy or parts
        host, port = str(first.hostname), first.port or _PORTS[first.scheme]
        if parts.scheme == "http":
            connection = HTTPConnection(host, port, timeout=_TIMEOUT_S)
        else:
            connection = HTTPSConnection(host, port, timeout=_TIMEOUT_S, context=self._trusted)
            if proxy is not None:
                connection.set_tunnel(str(parts.hostname), parts.port or _PORTS["https"], _authorization(proxy))
        connection.connect()
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


def _kept(idle: list[HTTPConnection]) -> HTTPConnection | None:
    """Take a connection that can still be used. Other threads take from the same list."""
    while True:
        try:
            connection = idle.pop()
        except IndexError:
            return None
        # What can be read before a request is the end of the connection.
        if not select.select([connection.sock], [], [], 0)[0]:
            return connection
        connection.close()


def _authorization(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(user.encode()).decode()}"}
