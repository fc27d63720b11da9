"""What schemathesis needs to know beyond the description. schemathesis.toml loads this module.

Random data rarely keep the rules between arguments that a JSON schema cannot express (a page begins at one place), and
never know a valid cursor: then nearly every answer would be 400. Whether valid data are accepted is shown elsewhere
(tests/functions/http/test_openapi.py), and that check is off here.
"""

import json
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit
from zlib import crc32

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData, Failure
from schemathesis.openapi.checks import UseAfterFree

Case = schemathesis.Case[Any]

NOTED: Final = "best"
"""The metric in test_openapi.py that keeps notes."""
PROFILES: Final = "/members"
STARTS: Final = ("cursor", "rank", "around")
OK, ACCEPTED, NO_CONTENT = 200, 202, 204

_cursors: dict[str, str] = {}
"""A valid cursor of each list that was read, by path."""
_gone: set[tuple[str, str]] = set()
"""Removed members, as (path, id)."""


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: Case, kwargs: dict[str, Any]) -> None:
    """Let valid data keep the rules between arguments."""
    del context, kwargs
    if case.meta is not None and case.meta.generation.mode.is_positive:
        dropped = set(_dropped(case))
        case.query = {name: value for name, value in case.query.items() if name not in dropped}
        if "cursor" in case.query:
            case.query["cursor"] = _cursors.get(case.formatted_path, "")


def _dropped(case: Case) -> Iterator[str]:
    """The arguments that do not go with others. Of those that exclude each other, every run keeps the same one."""
    query, window = case.query, case.path_parameters.get("window", "all")
    choice = crc32(repr(query).encode(errors="replace"))
    starts = [name for name in STARTS if query.get(name)]
    start = starts[choice % len(starts)] if starts else ""
    yield from {*STARTS} - {start}
    yield "limit" if start == "around" else "radius"
    if start == "cursor":
        yield from ("period", "method", "prefix")
    if "id" in query and "name" in query:
        yield from ("id",) if choice % 2 else ("name", "board", "limit")
    elif "name" not in query and case.path == PROFILES:
        yield from ("board", "limit")
    if "member" in query and "score" in query:
        yield from ("member", "previous", "profiles", "notes") if choice % 2 else ("score",)
    if query.get("ranks") is not True and "id" in query:
        yield "method"
    if case.path_parameters.get("metric", NOTED) != NOTED:
        yield "notes"
    if window == "all" or ("T" in query.get("period", "")) != ("hour" in window):
        yield "period"


@schemathesis.hook
def after_call(context: schemathesis.HookContext, case: Case, response: schemathesis.Response) -> None:
    """Remember cursors and removed members for later requests."""
    del context
    path, arguments = _sent(response)
    if response.status_code == OK and not arguments.keys() - {"limit", "cursor"}:
        answer = json.loads(response.content)
        if cursor := answer.get("next") or answer.get("previous"):
            _cursors[case.formatted_path] = cursor
    if path.endswith(("/member", PROFILES)):
        if response.request.method == "DELETE" and response.status_code == NO_CONTENT:
            _gone.add((path, arguments["id"]))
        elif response.request.method == "PUT":
            _gone.discard((path, arguments.get("id", "")))


@schemathesis.hook
def filter_failure(
    context: schemathesis.HookContext, failure: Failure, case: Case, response: schemathesis.Response
) -> bool:
    """Return False for a failure that a rule of the description explains, and True for every other failure."""
    del context, case
    path, arguments = _sent(response)
    if isinstance(failure, AcceptedNegativeData) and response.status_code == ACCEPTED:
        # The answer is 202 even if every event was refused: look at each status.
        return all(result["status"] == "queued" for result in json.loads(response.content)["results"])
    if isinstance(failure, UseAfterFree):
        # The check compares paths only. The id is in the query, so the removed member may be another one.
        return (path, arguments.get("id", "")) in _gone
    return True


def _sent(response: schemathesis.Response) -> tuple[str, dict[str, str]]:
    """Return the path and the arguments of the request as the function received them."""
    url = urlsplit(str(response.request.url))
    return url.path, dict(parse_qsl(url.query, keep_blank_values=True))
