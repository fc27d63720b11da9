"""The maintenance function: audits, settlements, rebuilds, deletions, erasures and replays.

Each call does as much as its time allows.
An event names one task, such as `{"rebuild": {"board": "b"}}` (or `"berlin-*"` for all boards that match) or
`{"dead_letters": {"replay": {"reason": "metrics"}}}`.
The answer says whether the task is `done`. If it is not, send the same event again, with the answer's `cursor` if it
has one, and with `"begin": false` for a rebuild or deletion.
"""

import platform
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import botocore
from aws_lambda_powertools.metrics import MetricUnit

from standings.domain import zones
from standings.domain.boards import DELETE, REBUILD
from standings.maintain.failures import Selection
from standings.maintain.task_arguments import Task, Tasks, task_of
from standings.runtime.logs import logger, metrics
from standings.wiring import building_blocks, maintenance

_services = maintenance.maintenance(building_blocks.real_clock())

_GLOB: Final = frozenset("*?[")
_LOGGED: Final = ("board", "metric", "window", "period", "why", "drift", "found")


def _audit(deadline: float, **arguments: Any) -> dict[str, Any]:
    answer = _services.audits.audit(deadline, **arguments)
    _report_drift(answer["boards"])
    return answer


def _audit_next(deadline: float, *, read_units: int) -> dict[str, Any]:
    boards: list[dict[str, Any]] = []
    try:
        answer = _services.scheduled_audits.continue_turn(deadline, read_units, boards.append)
    finally:
        # What was found before an error counts as well.
        _report_drift(boards)
    return {**answer, "drift": sum(board["drift"] for board in boards), "boards": boards}


def _report_drift(boards: list[dict[str, Any]]) -> None:
    """Count the differences that audits have found, and log them."""
    metrics.add_metric("Drift", MetricUnit.Count, sum(board["drift"] for board in boards))
    for board in boards:
        if board["drift"]:
            logger.error("rankings differ from scores", extra=board)


def _settling(do: Callable[..., dict[str, Any]], deadline: float, **arguments: Any) -> dict[str, Any]:
    """Log what could not be settled, and count the differences that its audit found."""
    answer = do(deadline, **arguments)
    metrics.add_metric("Drift", MetricUnit.Count, sum(ranking["drift"] for ranking in answer["rankings"]))
    for ranking in answer["rankings"]:
        if ranking["why"] is not None:
            logger.error("period not settled", extra={name: ranking[name] for name in _LOGGED})
    return answer


def _rebuild(deadline: float, *, board: str, begin: bool = True, cursor: int | None = None) -> dict[str, Any]:
    if _GLOB.intersection(board):
        return _services.rebuilds.continue_all(board, cursor, deadline)
    return _services.rebuilds.continue_job(board, REBUILD, deadline, begin=begin)


def _delete(deadline: float, *, board: str, begin: bool = True) -> dict[str, Any]:
    return _services.rebuilds.continue_job(board, DELETE, deadline, begin=begin)


def _runtime(_deadline: float) -> dict[str, Any]:
    """The versions that the functions run on. AWS updates its runtimes, and botocore with them, at any time."""
    of_runtime = {"python": platform.python_version(), "botocore": botocore.__version__}
    return {**of_runtime, "time_zones": zones.VERSION, "done": True}


def _choosing(names: str, do: Callable[..., dict[str, Any]], **types: type) -> Task:
    """A task on those dead letters or parked objects that the arguments `names`, `reason` and `board` choose."""

    def call(deadline: float, **arguments: Any) -> dict[str, Any]:
        chosen = Selection(*(arguments.pop(name, None) for name in (names, "reason", "board")))
        return do(deadline, chosen=chosen, **arguments)

    return Task(call, {names: list, "reason": str, "board": str, **types})


_TASKS: Final[Tasks] = {
    "audit": Task(_audit, {"board": str, "cursor": dict, "grace_seconds": int}),
    "audits": {
        "next": Task(_audit_next, {"read_units": int}, required="read_units"),
        "show": Task(lambda _: _services.scheduled_audits.show(), {}),
    },
    "rebuild": Task(_rebuild, {"board": str, "begin": bool, "cursor": int}, required="board"),
    "delete": Task(_delete, {"board": str, "begin": bool}, required="board"),
    "erase": Task(_services.erase.erase, {"member": str, "cursor": str}, required="member"),
    "settle": Task(
        partial(_settling, _services.settlements.settle),
        {"board": str, "window": str, "metric": str, "period": str, "again": bool, "cursor": dict},
        required="board",
    ),
    "settlements": {
        "next": Task(partial(_settling, _services.settlements.settle_due), {}),
        "show": Task(_services.settlements.show, {}),
        "list": Task(_services.settlements.results, {"board": str, "cursor": str}, required="board"),
    },
    "announcements": {"show": Task(_services.announced, {})},
    "runtime": Task(_runtime, {}),
    "dead_letters": {
        "list": _choosing("ids", _services.dead_letters.list, limit=int),
        "replay": _choosing("ids", _services.dead_letters.replay, cursor=int),
        "delete": Task(_services.dead_letters.delete, {"ids": list}, required="ids"),
    },
    "parked": {
        "list": _choosing("keys", _services.parked.list, limit=int, cursor=str),
        "replay": _choosing("keys", _services.parked.replay, cursor=dict),
    },
}


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Do one task until it is done or the function's time is over; ValueError says what is wrong with the event."""
    deadline = building_blocks.deadline(context.get_remaining_time_in_millis())
    task, arguments = task_of(event, _TASKS)
    answer = task.do(deadline, **arguments)
    # The log would keep an erased member's id longer than the tables do.
    logger.info("task", extra={"task": {"erase": {}} if "erase" in event else event, "done": answer["done"]})
    return answer
