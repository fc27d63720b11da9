"""The rules between arguments, which a JSON schema cannot say: schemathesis loads this (schemathesis.toml).

Data that are valid by the description are refused with good reason where they break one of these rules, and the
problem names the argument that does: only then is such a failure dropped. So a 400 to data that break no rule still
fails, and so does one that blames the wrong argument.
"""

import json
import re
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

PRECISIONS: Final = {"points": 0, "strokes": 2, "rounds": 0}
"""The decimals of the metrics that there are in test_schemathesis.py."""
NOW: Final = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
"""When it is there."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MAX_MEMBER_BYTES: Final = 256
MAX_UNITS: Final = 2**53 - 1
MAX_DECIMALS: Final = 9
OK, ACCEPTED, NO_CONTENT, BAD_REQUEST = 200, 202, 204, 400


_cursors: dict[str, str] = {}
"""A cursor of each list that was read, by its path."""
_gone: set[tuple[str, str]] = set()
"""Members that have been removed, as (path, id)."""


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: Case, kwargs: dict[str, Any]) -> None:
    """Good data made to keep the rules where chance would not, so that answers are more than refusals."""
    del context, kwargs
    if case.meta is not None and case.meta.generation.mode.is_positive:
        case.query = dict(_reconciled(case))


def _reconciled(case: Case) -> Iterator[tuple[str, Any]]:
    """The arguments that go together; of those that do not, some, always the same of the same."""
    query = dict(case.query)
    choice = crc32(repr(query).encode(errors="replace"))
    dropped = set()
    if query.keys() & {"cursor"}:
        query["cursor"] = _cursors.get(case.formatted_path, "")
    ways = [name for name in ("cursor", "rank", "around") if query.get(name)]
    way = ways[choice % len(ways)] if ways else ""
    dropped |= {"cursor", "rank", "around"} - {way}
    if way == "cursor":
        dropped |= {"period", "method", "prefix"}
    dropped |= {"limit"} if way == "around" else {"radius"}
    if "member" in query and "score" in query:
        dropped |= {"member", "previous"} if choice % 2 else {"score"}
    if query.get("ranks") is not True and "id" in query:
        dropped |= {"method"}
    window = case.path_parameters.get("window", "all")
    if window == "all" or ("T" in query.get("period", "")) != ("hour" in window):
        dropped |= {"period"}
    return ((name, value) for name, value in query.items() if name not in dropped)


@schemathesis.hook
def after_call(context: schemathesis.HookContext, case: Case, response: schemathesis.Response) -> None:
    """Remember what an answer tells of later ones."""
    del context
    path, given = _sent(response)
    if response.status_code == OK and not given.keys() - {"limit", "cursor"}:
        answer = json.loads(response.content)
        if cursor := answer.get("next") or answer.get("previous"):
            _cursors[case.formatted_path] = cursor
    if path.endswith("/member") and response.request.method == "DELETE" and response.status_code == NO_CONTENT:
        _gone.add((path, given["id"]))
    elif path.endswith("/member") and response.request.method == "PUT":
        _gone.discard((path, given.get("id", "")))


@schemathesis.hook
def filter_failure(
    context: schemathesis.HookContext, failure: Failure, case: Case, response: schemathesis.Response
) -> bool:
    """Whether a failure is one: not where a rule that the description tells in words explains it."""
    del context
    path, given = _sent(response)
    if isinstance(failure, RejectedPositiveData) and response.status_code == BAD_REQUEST:
        return not _explained(json.loads(response.content), case, response)
    if isinstance(failure, AcceptedNegativeData) and response.status_code == ACCEPTED:
        # Events are refused one by one, within an answer that is 202.
        return all(result["status"] == "queued" for result in json.loads(response.content)["results"])
    if isinstance(failure, UseAfterFree):
        # The check compares paths, and a member's id stands in the query: it may have been another that was removed.
        return (path, given.get("id", "")) in _gone
    return True


def _sent(response: schemathesis.Response) -> tuple[str, dict[str, str]]:
    """The path and the arguments as they were sent: judged is what the function saw."""
    url = urlsplit(str(response.request.url))
    return url.path, dict(parse_qsl(url.query, keep_blank_values=True))


def _explained(problem: Mapping[str, Any], case: Case, response: schemathesis.Response) -> bool:
    _, given = _sent(response)
    call = str(case.operation.label)
    kind = problem["type"].removeprefix("urn:standings:")
    if kind == "too-far":
        return "rank" in given or given.get("method", "competition") != "competition"
    if kind == "bad-body":
        group = json.loads(cast("bytes", response.request.body)) if call.endswith("/ranks") else {}
        return any(map(_too_long, group.get("members", [])))
    return problem["detail"].partition(":")[0] in set(_broken(call, case, given))


def _broken(call: str, case: Case, given: Mapping[str, str]) -> Iterator[str]:
    """The arguments that break a rule of this call."""
    for name in ("member", "around", "id"):
        if name in given and _too_long(given[name]):
            yield name
    if "period" in given and not _has_begun(given["period"], case.path_parameters["window"]):
        yield "period"
    # No cursor can be made up.
    if "cursor" in given and given["cursor"] != _cursors.get(case.formatted_path):
        yield "cursor"
    if call.endswith("/{window}"):
        yield from _ways_to_a_page(given)
    if call.endswith("/rank"):
        yield from _ways_to_a_rank(given, case.path_parameters["metric"])
    if "p" in given and _decimals(given["p"]) > MAX_DECIMALS:
        yield "p"
    if call.endswith("/member") and given.get("ranks") != "true" and "method" in given:
        yield "method"


def _has_begun(period: str, window: str) -> bool:
    """Whether it is a period of that window, and not in the future (which is not told of hours with an offset)."""
    form = "%Y-%m-%dT%H" if "hour" in window else "%Y-%m-%d"
    try:
        start = datetime.strptime(period, form).replace(tzinfo=UTC)
    except ValueError:
        return False
    return window != "all" and EPOCH <= start <= NOW


def _ways_to_a_page(given: Mapping[str, str]) -> Iterator[str]:
    ways = given.keys() & {"cursor", "rank", "around"}
    if len(ways) > 1:
        yield from ways
    if "radius" in given and "around" not in given:
        yield "radius"
    if "around" in given and "limit" in given:
        yield "limit"


def _ways_to_a_rank(given: Mapping[str, str], metric: str) -> Iterator[str]:
    if ("member" in given) == ("score" in given):
        yield from ("member", "score")
    if "score" in given and not _whole_units(given["score"], metric):
        yield "score"
    if "score" in given and "previous" in given:
        yield "previous"


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
