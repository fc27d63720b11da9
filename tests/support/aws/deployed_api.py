"""Requests to the API of a deployed stack, past any proxy."""

import json
import urllib.error
import urllib.request
from email.message import Message
from typing import Any

from demo.embedded.stack import Deployment


def ask(deployment: Deployment, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Message, Any]:
    """Send a request with JSON. Return the status, the headers and the JSON (None: no content)."""
    data = None if body is None else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(deployment.api_url + path, data, sent, method=method)  # noqa: S310 - loopback
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        answer = opener.open(request, timeout=30)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        content = answer.read()
        return answer.status, answer.headers, json.loads(content) if content else None


def answer_of(deployment: Deployment, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """The same without the headers."""
    status, _, answer = ask(deployment, method, path, body)
    return status, answer
