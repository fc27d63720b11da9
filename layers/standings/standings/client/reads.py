"""Where answers come from: the tables, by the code of the query function, or the API."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import orjson

from standings.calls import CALLS, UNAVAILABLE, Argument, Arguments, Problem, problem_of
from standings.client import values
from standings.client.errors import NoAnswerError, NotFound, StaleBoards, Unavailable, error_of
from standings.domain.boards import BOARD_NAME_RULE, is_board_name
from standings.domain.errors import RequestError
from standings.ingest import event_status
from standings.runtime.clock import Clock
from standings.stores import StoreUnavailableError

if TYPE_CHECKING:
    from standings.aws.dynamodb.scores import Scores
    from standings.client.api import Api
    from standings.read.dispatch import Answers

Answer = dict[str, Any]
Reads: TypeAlias = "ApiReads | TableReads"


class ApiReads:
    """Calls over the API: reads, and changes of members. `api` is called with the first of them."""

    def __init__(self, api: Callable[[], "Api"]) -> None:
        self._api = api

    def answer(self, name: str, path: Mapping[str, str], arguments: Arguments, body: Any = None) -> Answer:
        """The API's answer to a call of `CALLS`, such as `getRank`, as Python values. Raises ApiError."""
        call = CALLS[name]
        parts = [path.get(part.strip("<>"), part) for part in call.path.split("/") if part]
        data = b"" if body is None else orjson.dumps(body)
        try:
            return self._api().answer(call.method, parts, arguments, data)
        except NoAnswerError as error:
            raise Unavailable(503, "unavailable", str(error)) from error


class TableReads:
    """Reads from the tables. `answers` and `scores` are called with the first read that needs them."""

    def __init__(self, answers: Callable[[], "Answers"], scores: Callable[[], "Scores"], clock: Clock) -> None:
        self._answers = answers
        self._scores = scores
        self._clock = clock

    def answer(self, name: str, path: Mapping[str, str], arguments: Arguments, body: Any = None) -> Answer:
        """The answer that the API would give to a call, as Python values. Raises ApiError."""
        try:
            return self._answer(name, path, arguments, body)
        except StoreUnavailableError as error:
            raise error_of(UNAVAILABLE.status, UNAVAILABLE.kind, UNAVAILABLE.detail) from error

    def _answer(self, name: str, path: Mapping[str, str], arguments: Arguments, body: Any) -> Answer:
        try:
            if name == "getEvent":
                return event_status(self._scores(), self._clock, arguments["id"], with_reason=True)
            # Through JSON, as the API sends it: exact decimals become Python's numbers.
            found: Answer = orjson.loads(orjson.dumps(self._answers().answer(name, path, arguments, lambda: body)))
        except RequestError as error:
            stale = self._stale(path.get("board", ""), problem_of(error))
            raise stale or values.as_api_error(error) from None
        return found

    def _stale(self, board: str, problem: Problem) -> StaleBoards | None:
        """StaleBoards if the stack's record of the board has rankings that these definitions lack; else None."""
        if problem.kind not in _BY_DEFINITION or not is_board_name(board):
            return None
        answers = self._answers()
        record, family = answers.session().record(board), answers.boards.family(board)
        in_use = frozenset[str]() if record is None else record.coverage.rankings
        unknown = in_use - (frozenset() if family is None else family.rankings())
        if not unknown:
            return None
        detail = (
            f"{problem.detail}; the stack ranks board {board!r} in {len(unknown)} ways that these definitions do not "
            "have: give the client the boards.toml of the stack, or the newest version of its layer"
        )
        return StaleBoards(problem.status, problem.kind, detail)


_BY_DEFINITION: Final = frozenset({"no-such-board", "no-such-metric", "no-such-window", "not-built"})


def arguments_of(name: str, given: Mapping[str, Any]) -> Arguments:
    """The arguments of a call as the API takes them, `0.5`, `true`, without None and False. Raises BadArgument."""
    known = CALLS[name].arguments
    texts = {each: _text_of(each, value, known) for each, value in given.items() if value is not None}
    try:
        return Arguments(known, ((each, text) for each, text in texts.items() if text is not None))
    except RequestError as error:
        raise values.as_api_error(error) from None


def _text_of(name: str, value: Any, known: Mapping[str, Argument]) -> str | None:
    """An argument as text; None for False. A text is taken as it is: `Arguments` checks it."""
    kind = known[name].kind if name in known else None
    if kind is None:
        return ""
    if isinstance(value, str):
        return values.text(name, value)
    if kind == "flag":
        return "true" if values.flag(name, value) else None
    if kind == "whole":
        return str(values.whole(name, value))
    if name in ("score", "p"):
        return str(values.number(name, value))
    return values.period(name, value) if name == "period" else values.text(name, value)


def checked(path: Mapping[str, str]) -> Mapping[str, str]:
    """The names in a path, `{"board": "berlin-2026"}`, as they are. Raises NotFound for one that nothing can have."""
    for kind, name in path.items():
        if not is_board_name(name):
            expected = f"a board name of {BOARD_NAME_RULE}" if kind == "board" else f"the name of a {kind}"
            raise NotFound(404, f"no-such-{kind}", f"expected {expected}, got {name[:80]!r}")
    return path


def ranked(definition: Mapping[str, Any], metric: str | None, window: str | None) -> tuple[str, str]:
    """The metric and the window that are read: by default the board's first metric, and the metric's first window.

    For example `("points", "day")`, of the answer to `getBoard`. Raises NotFound for a board without a ranked metric.
    """
    windows = {one["metric"]: one["windows"][0]["window"] for one in definition["metrics"] if one["windows"]}
    if metric is None and not windows:
        raise NotFound(404, "no-such-metric", f"board {definition['board']!r} has no ranked metric")
    metric = next(iter(windows)) if metric is None else metric
    # For an unknown or unranked metric the answer to the read lists the others.
    return metric, windows.get(metric, "all") if window is None else window
