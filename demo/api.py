"""Requests to the HTTP API of the embedded AWS. One that takes too long is tried again."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPException
from typing import Any

TIMEOUT_S = 30.0
_TRIES = 3
_SLOW = (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)
"""How the gateway answers for a function that took too long."""
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class NoAnswerError(Exception):
    """None of three tries got an answer in time. The message says what the last one got."""


class ProblemError(Exception):
    """The API answered with an error."""

    def __init__(self, request: str, status: int, detail: str) -> None:
        super().__init__(f"{request}: {status} {detail}")
        self.status = status


def call(method: str, url: str, body: Mapping[str, Any] | None = None, timeout_s: float = TIMEOUT_S) -> Any:
    """Return the JSON of an answer; ProblemError, NoAnswerError. The request must be one that may be sent twice."""
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, content, method=method)  # noqa: S310 - loopback
    for left in reversed(range(_TRIES)):
        try:
            with _OPENER.open(request, timeout=timeout_s) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code not in _SLOW or not left:
                detail = error.read().decode(errors="replace")
                raise ProblemError(f"{method} {url}", error.code, detail) from error
        except (OSError, HTTPException) as error:
            if not left:
                raise NoAnswerError(f"{method} {url}: {_TRIES} tries, the last one: {error}") from error
    raise AssertionError("the last try returns or raises")
