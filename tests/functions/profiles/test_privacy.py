"""No name, picture or data stands in a log, a metric or the text of an error, whatever fails."""

import io
import json
import logging
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, ParamValidationError, ReadTimeoutError

from standings.runtime.logs import logger, metrics
from tests.support.aws.stack import Handler, Stack, http_event
from tests.support.builders.over_http import ALL, MEMBER, post

MARK = "Zyx"
NAME, PICTURE, DATA = f"{MARK}-Name", f"https://{MARK}.example/picture.png", {f"{MARK}-key": f"{MARK}-data"}
PROFILE = {"name": NAME, "picture": PICTURE, "country": "DE", "data": DATA}

CALLS: list[tuple[str, str, str, Any]] = [
    ("PUT", "/members", "id=u1", PROFILE),
    ("GET", "/members", "id=u1", None),
    ("GET", "/members", f"name={NAME}", None),
    ("GET", "/members", f"name={NAME}&board=b", None),
    ("GET", ALL, "profiles=true", None),
    ("GET", ALL, "around=u1&profiles=true", None),
    ("GET", f"{ALL}/rank", "member=u1&profiles=true", None),
    ("POST", f"{ALL}/ranks", "profiles=true", {"members": ["u1"]}),
    ("GET", MEMBER, "id=u1&profiles=true", None),
    ("DELETE", "/members", "id=u1", None),
]

REFUSED: list[tuple[str, str, str, Any]] = [
    ("PUT", "/members", "id=u1", NAME),
    ("PUT", "/members", "id=u1", f'"{NAME}"'),
    ("PUT", "/members", "id=u1", f'{{"name": "{NAME}'),
    ("PUT", "/members", "id=u1", [PROFILE]),
    ("PUT", "/members", "id=u1", {}),
    *(
        ("PUT", "/members", "id=u1", {**PROFILE, **wrong})
        for wrong in (
            {"name": NAME * 20},
            {"name": f"{NAME}\x00"},
            {"name": [NAME]},
            {"name": DATA},
            {"picture": f"http://{MARK}.example"},
            {"picture": PICTURE + "x" * 512},
            {"picture": [PICTURE]},
            {"country": MARK},
            {"country": [MARK]},
            {"data": NAME},
            {"data": [DATA]},
            {"data": {NAME: "x" * 1024}},
            {"nickname": NAME},
        )
    ),
    ("PUT", "/members", "", PROFILE),
    ("PUT", "/members", "id=" + "x" * 257, PROFILE),
    ("PUT", "/members", f"id=u1&title={NAME}", PROFILE),
    ("PUT", MEMBER, "id=u1", PROFILE),
    ("PATCH", "/members", "id=u1", PROFILE),
    ("POST", "/members", "id=u1", PROFILE),
    ("GET", "/members", f"name={MARK[0]}", None),
    ("GET", "/members", f"name={NAME}&name={NAME}", None),
    ("GET", "/members", f"name={NAME}&id=u1", None),
    ("GET", "/members", f"name={NAME}&title={NAME}", None),
    ("GET", "/members", f"name={NAME}&limit=0", None),
    ("GET", "/members", f"name={NAME}%FF", None),
    ("GET", "/members", f"name={NAME}&board=a%2Fb", None),
    ("GET", "/boards", f"name={NAME}", None),
]

Fail = Callable[[str, dict[str, Any]], None]


def refuses(code: str) -> Fail:
    def fail(operation: str, request: dict[str, Any]) -> None:
        raise ClientError({"Error": {"Code": code, "Message": f"not like this: {request} {NAME}"}}, operation)

    return fail


def invalid(_: str, request: dict[str, Any]) -> None:
    raise ParamValidationError(report=f"{request} {NAME}")


def hangs(*_: Any) -> None:
    raise ReadTimeoutError(endpoint_url=PICTURE)


def has_a_bug(_: str, request: dict[str, Any]) -> None:
    raise KeyError(NAME, request)


FAILURES: list[Fail] = [
    refuses("ValidationException"),
    refuses("ThrottlingException"),
    refuses("AccessDeniedException"),
    invalid,
    hangs,
    has_a_bug,
]


@pytest.fixture
def written(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], str]]:
    """Everything that was logged at any level, emitted as a metric or printed."""
    monkeypatch.setenv("POWERTOOLS_METRICS_DISABLED", "false")
    metrics.clear_metrics()
    stream, handler, level = io.StringIO(), logger.registered_handler, logger.log_level
    before = handler.setStream(stream)  # type: ignore[attr-defined] # Powertools writes to a stream
    logger.setLevel(logging.DEBUG)
    caplog.set_level(logging.DEBUG)
    yield lambda: stream.getvalue() + caplog.text + "".join(capfd.readouterr())
    logger.setLevel(level)
    handler.setStream(before)  # type: ignore[attr-defined] # as above


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


@pytest.mark.parametrize("call", REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused_stands_in_no_error(
    stack: Stack, written: Callable[[], str], call: tuple[str, str, str, Any]
) -> None:
    stack.put("/members", PROFILE, id="u1")
    status, told = send(stack, *call)

    assert 400 <= status < 500, told
    assert MARK not in told
    assert MARK not in written()


@pytest.mark.parametrize("fail", FAILURES, ids=range(len(FAILURES)))
@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_what_fails_tells_nothing(
    stack: Stack, engine: Any, written: Callable[[], str], call: tuple[str, str, str, Any], fail: Fail
) -> None:
    stack.put("/members", PROFILE, id="u1")

    def before(operation: str, request: dict[str, Any]) -> None:
        if "Profiles" in (request.get("TableName"), *request.get("RequestItems", ())):
            fail(operation, request)

    engine.before.append(before)
    status, told = send(stack, *call)

    assert status in {500, 503}
    assert MARK not in told
    log = written()
    assert MARK not in log
    assert status == 500 or '"Profiles: ' in log
