"""No name, picture or data stands in a log, a metric or the text of an error, whatever fails."""

import io
import json
import logging
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError, ParamValidationError, ReadTimeoutError

from standings.runtime.logs import logger, metrics
from tests.support.aws.stack import Handler, Stack, http_event
from tests.support.builders.querying import ALL, MEMBER, post

MARK = "Zyx"
NAME, PICTURE, DATA = f"{MARK}-Name", f"https://{MARK}.example/picture.png", {f"{MARK}-key": f"{MARK}-data"}
PROFILE = {"name": NAME, "picture": PICTURE, "country": "DE", "data": DATA}

CALLS: list[tuple[str, str, str, Any]] = [
    ("PUT", "/members", "id=u1", PROFILE),
    *(("GET", "/members", query, None) for query in ("id=u1", f"name={NAME}", f"name={NAME}&board=b")),
    *(("GET", ALL, query, None) for query in ("profiles=true", "around=u1&profiles=true")),
    ("GET", f"{ALL}/rank", "member=u1&profiles=true", None),
    ("POST", f"{ALL}/ranks", "profiles=true", {"members": ["u1"]}),
    ("GET", MEMBER, "id=u1&profiles=true", None),
    ("DELETE", "/members", "id=u1", None),
]

WRONG_FIELDS: dict[str, list[Any]] = {
    "name": [NAME * 20, f"{NAME}\x00", [NAME], DATA],
    "picture": [f"http://{MARK}.example", PICTURE + "x" * 512, [PICTURE]],
    "country": [MARK, [MARK]],
    "data": [NAME, [DATA], {NAME: "x" * 1024}],
    "nickname": [NAME],
}
NO_PROFILES: list[Any] = [NAME, f'"{NAME}"', f'{{"name": "{NAME}', [PROFILE], {}]
WRONG_SEARCHES = [
    *(f"name={MARK[0]}", f"name={NAME}&name={NAME}", f"name={NAME}&id=u1", f"name={NAME}&title={NAME}"),
    *(f"name={NAME}&limit=0", f"name={NAME}%FF", f"name={NAME}&board=a%2Fb"),
]
REFUSED: list[tuple[str, str, str, Any]] = [
    *(("PUT", "/members", "id=u1", body) for body in NO_PROFILES),
    *(("PUT", "/members", "id=u1", {**PROFILE, field: one}) for field, wrong in WRONG_FIELDS.items() for one in wrong),
    *(("GET", "/members", query, None) for query in WRONG_SEARCHES),
    *(("PUT", "/members", query, PROFILE) for query in ("", "id=" + "x" * 257, f"id=u1&title={NAME}")),
    *((method, "/members", "id=u1", PROFILE) for method in ("PATCH", "POST")),
    *(("PUT", MEMBER, "id=u1", PROFILE), ("GET", "/boards", f"name={NAME}", None)),
]

FAILURES = ["ValidationException", "ThrottlingException", "AccessDeniedException", "invalid", "hangs", "a bug"]


def failure(kind: str, operation: str, request: dict[str, Any]) -> Exception:
    """An error whose text quotes what was sent."""
    said = f"{request} {NAME}"
    return {
        "invalid": ParamValidationError(report=said),
        "hangs": ReadTimeoutError(endpoint_url=PICTURE),
        "a bug": KeyError(said),
    }.get(kind, ClientError({"Error": {"Code": kind, "Message": said}}, operation))


@pytest.fixture
def written(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], str]:
    """Everything that was logged at any level, emitted as a metric or printed since the last call."""
    monkeypatch.setenv("POWERTOOLS_METRICS_DISABLED", "false")
    metrics.clear_metrics()
    stream = io.StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", stream)
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger.name)

    def since_the_last_call() -> str:
        text = stream.getvalue() + caplog.text + "".join(capfd.readouterr())
        stream.truncate(0)
        caplog.clear()
        return text

    return since_the_last_call


@pytest.fixture(autouse=True)
def ranked(stack: Stack) -> None:
    post(stack, {"u1": 5})


def send(stack: Stack, method: str, path: str, query: str, body: Any) -> tuple[int, str]:
    """Send a request; return the status, and all that is told of an error to the client and by Lambda to the log."""
    writes = method in {"PUT", "DELETE"}
    handler: Handler = stack.command if writes else stack.query
    try:
        answer = handler(http_event(path, query, method, body), None)
    except Exception:  # noqa: BLE001 - Lambda logs it, and the gateway answers 500
        return 500, traceback.format_exc()
    return answer["statusCode"], json.dumps([answer["headers"], answer["body"]])


def test_what_is_answered_is_logged_nowhere(stack: Stack, written: Callable[[], str]) -> None:
    shown = 0
    for call in CALLS:
        status, answer = send(stack, *call)
        assert status in {200, 204}, (call, answer)
        shown += MARK in answer

    assert shown == len(CALLS) - 1  # all but the removal
    log = written()
    assert '"path":"/members"' in log
    assert MARK not in log


def test_what_is_refused_stands_in_no_error(stack: Stack, written: Callable[[], str]) -> None:
    stack.put("/members", PROFILE, id="u1")
    for call in REFUSED:
        status, told = send(stack, *call)

        assert 400 <= status < 500, told
        assert MARK not in told
    assert MARK not in written()


@pytest.mark.parametrize("kind", FAILURES)
def test_what_fails_tells_nothing(stack: Stack, engine: Any, written: Callable[[], str], kind: str) -> None:
    def before(operation: str, request: dict[str, Any]) -> None:
        if "Profiles" in (request.get("TableName"), *request.get("RequestItems", ())):
            raise failure(kind, operation, request)

    stack.put("/members", PROFILE, id="u1")
    engine.before.append(before)
    for call in CALLS:
        status, told = send(stack, *call)

        assert status in {500, 503}, call
        assert MARK not in told
        log = written()
        assert MARK not in log
        assert status == 500 or '"Profiles: ' in log
