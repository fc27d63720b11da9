"""The rules between arguments that a JSON schema cannot express. schemathesis.toml loads this module.

Data that are valid by the schema may break one of these rules. Then the answer is 400, and its problem names the
argument that breaks the rule. Only such failures are dropped. A 400 to data that break no rule still fails the test.
So does a problem that names another argument.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, cast
from urllib.parse import parse_qsl, urlsplit
from zlib import crc32

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData, Failure
from schemathesis.openapi.checks import RejectedPositiveData, UseAfterFree

Case = schemathesis.Case[Any]

PRECISIONS: Final = {"points": 0, "strokes": 2, "rounds": 0, "best": 1}
"""The decimals of the metrics in test_schemathesis.py."""
NOTED: Final = "best"
"""The metric there that keeps notes."""
NOW: Final = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
"""The time of the clock in tests/functions/http."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MAX_MEMBER_BYTES: Final = 256
MAX_UNITS: Final = 2**53 - 1
MAX_DECIMALS: Final = 9
PROFILES: Final = "/members"
MIN_SEARCH, MAX_NAME, MAX_DATA_BYTES = 2, 64, 1024
OK, ACCEPTED, NO_CONTENT, BAD_REQUEST = 200, 202, 204, 400


_cursors: dict[str, str] = {}
"""A valid cursor of each list that was read, by path."""
_gone: set[tuple[str, str]] = set()
"""Removed members, as (path, id)."""


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: Case, kwargs: dict[str, Any]) -> None:
    """Make valid data keep the rules, which random data rarely do, so that not every answer is 400."""
    del context, kwargs
    if case.meta is not None and case.meta.generation.mode.is_positive:
        case.query = dict(_reconciled(case))


def _reconciled(case: Case) -> Iterator[tuple[str, Any]]:
    """Yield arguments that may be combined. Of arguments that exclude each other, every run keeps the same one."""
    query = dict(case.query)
    choice = crc32(repr(query).encode(errors="replace"))
    dropped = set()
    if query.keys() & {"cursor"}:
        query["cursor"] = _cursors.get(case.formatted_path, "")
    starts = [name for name in ("cursor", "rank", "around") if query.get(name)]
    start = starts[choice % len(starts)] if starts else ""
    dropped |= {"cursor", "rank", "around"} - {start}
    if start == "cursor":
        dropped |= {"period", "method", "prefix"}
    dropped |= {"limit"} if start == "around" else {"radius"}
    if "id" in query and "name" in query:
        dropped |= {"id"} if choice % 2 else {"name", "board", "limit"}
    elif "name" not in query and case.path == PROFILES:
        dropped |= {"board", "limit"}
    if "member" in query and "score" in query:
        dropped |= {"member", "previous", "profiles", "notes"} if choice % 2 else {"score"}
    if query.get("ranks") is not True and "id" in query:
        dropped |= {"method"}
    if case.path_parameters.get("metric", NOTED) != NOTED:
        dropped |= {"notes"}
    window = case.path_parameters.get("window", "all")
    if window == "all" or ("T" in query.get("period", "")) != ("hour" in window):
        dropped |= {"period"}
    return ((name, value) for name, value in query.items() if name not in dropped)


@schemathesis.hook
def after_call(context: schemathesis.HookContext, case: Case, response: schemathesis.Response) -> None:
    """Remember cursors and removed members for later requests."""
    del context
    path, arguments = _sent(response)
    if response.status_code == OK and not arguments.keys() - {"limit", "cursor"}:
        answer = json.loads(response.content)
        if cursor := answer.get("next") or answer.get("previous"):
            _cursors[case.formatted_path] = cursor
    if not path.endswith(("/member", PROFILES)):
        return
    if response.request.method == "DELETE" and response.status_code == NO_CONTENT:
        _gone.add((path, arguments["id"]))
    elif response.request.method == "PUT":
        _gone.discard((path, arguments.get("id", "")))


@schemathesis.hook
def filter_failure(
    context: schemathesis.HookContext, failure: Failure, case: Case, response: schemathesis.Response
) -> bool:
    """Return False for a failure that a rule of the description explains, and True for every other failure."""
    del context
    path, arguments = _sent(response)
    if isinstance(failure, RejectedPositiveData) and response.status_code == BAD_REQUEST:
        return not _explained(json.loads(response.content), case, response)
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


def _explained(problem: Mapping[str, Any], case: Case, response: schemathesis.Response) -> bool:
    _, arguments = _sent(response)
    call = str(case.operation.label)
    kind = problem["type"].removeprefix("urn:standings:")
    if kind == "too-far":
        return "rank" in arguments or arguments.get("method", "competition") != "competition"
    if kind == "bad-body":
        body = json.loads(cast("bytes", response.request.body)) if call.endswith(("/ranks", PROFILES)) else {}
        return any(map(_too_long, body.get("members", []))) or _is_bad_profile(body)
    return problem["detail"].partition(":")[0] in set(_broken(call, case, arguments))


def _broken(call: str, case: Case, arguments: Mapping[str, str]) -> Iterator[str]:
    """Yield the arguments that break a rule of this call."""
    for name in ("member", "around", "me", "id"):
        if name in arguments and _too_long(arguments[name]):
            yield name
    if "period" in arguments and not _has_begun(arguments["period"], case.path_parameters["window"]):
        yield "period"
    # Every other cursor was generated, so it is invalid.
    if "cursor" in arguments and arguments["cursor"] != _cursors.get(case.formatted_path):
        yield "cursor"
    if call.endswith("/{window}"):
        yield from _page_rules(arguments)
    if call.endswith(PROFILES):
        yield from _profile_rules(arguments)
    if call.endswith("/rank"):
        yield from _rank_rules(arguments, case.path_parameters["metric"])
    if "p" in arguments and _decimals(arguments["p"]) > MAX_DECIMALS:
        yield "p"
    if call.endswith("/member") and arguments.get("ranks") != "true" and "method" in arguments:
        yield "method"


def _has_begun(period: str, window: str) -> bool:
    """Whether a period fits the window and has begun. An hour with an offset counts as not fitting."""
    form = "%Y-%m-%dT%H" if "hour" in window else "%Y-%m-%d"
    try:
        start = datetime.strptime(period, form).replace(tzinfo=UTC)
    except ValueError:
        return False
    return window != "all" and EPOCH <= start <= NOW


def _page_rules(arguments: Mapping[str, str]) -> Iterator[str]:
    starts = arguments.keys() & {"cursor", "rank", "around"}
    if len(starts) > 1:
        yield from starts
    if "radius" in arguments and "around" not in arguments:
        yield "radius"
    if "around" in arguments and "limit" in arguments:
        yield "limit"


def _rank_rules(arguments: Mapping[str, str], metric: str) -> Iterator[str]:
    if ("member" in arguments) == ("score" in arguments):
        yield from ("member", "score")
    if "score" in arguments and not _whole_units(arguments["score"], metric):
        yield "score"
    if "score" in arguments:
        yield from arguments.keys() & {"previous", "profiles", "notes"}


def _profile_rules(arguments: Mapping[str, str]) -> Iterator[str]:
    if ("id" in arguments) == ("name" in arguments):
        yield "id"
    if "name" not in arguments:
        yield from ("board", "limit")
    if "name" in arguments and len(_letters(arguments["name"]).strip()) < MIN_SEARCH:
        yield "name"


def _is_bad_profile(body: Mapping[str, Any]) -> bool:
    """Whether the name breaks a rule once it is composed and trimmed, or the data are too large."""
    name = unicodedata.normalize("NFC", body.get("name") or "x").strip()
    marked = unicodedata.category(name[:1] or "x").startswith("M")
    data = json.dumps(body.get("data"), separators=(",", ":"), ensure_ascii=False)
    return marked or not 1 <= len(name) <= MAX_NAME or len(data.encode()) > MAX_DATA_BYTES


def _letters(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in decomposed if not unicodedata.category(letter).startswith("M"))


def _too_long(member: str) -> bool:
    return len(member.encode(errors="replace")) > MAX_MEMBER_BYTES


def _whole_units(score: str, metric: str) -> bool:
    precision = PRECISIONS.get(metric, MAX_DECIMALS)
    return _decimals(score) <= precision and abs(Decimal(score)) * 10**precision <= MAX_UNITS


def _decimals(number: str) -> int:
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", number):
        return 0
    exponent = Decimal(number).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
