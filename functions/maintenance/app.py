"""The maintenance function: what people ask for now and then. Each call does as much as its time allows.

An event has one task, such as `{"rebuild": {"board": "b"}}` (or `"berlin-*"`: all boards whose names match) or
`{"dead_letters": {"replay": {"reason": "metrics"}}}`.
The answer says whether it is `done`. Where it is not, the same event goes on with it, with the answer's `cursor` if it
has one, and for a rebuild or deletion with `"begin": false`.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from aws_lambda_powertools.metrics import MetricUnit

from standings.catalog.board_catalog import DELETE
from standings.maintain.rebuild.rebuild import REBUILD
from standings.maintain.task_arguments import Arguments, task_of
from standings.runtime.environment import Config
from standings.runtime.logs import logger, metrics
from standings.wiring import building_blocks
from standings.wiring.maintenance import Maintenance

_maintenance = Maintenance(Config.from_environment(), building_blocks.pacing())

_JOB: Final[Arguments] = {"board": str, "begin": bool}
_GLOB: Final = frozenset("*?[")
_TASKS: Final[dict[str, Arguments]] = {
    "audit": {"board": str, "cursor": dict, "grace_seconds": int},
    "rebuild": {**_JOB, "cursor": int},
    "delete": _JOB,
    "dead_letters": {"list": dict, "replay": dict, "delete": dict},
    "parked": {"list": dict, "replay": dict},
}


def _job(task: str) -> Callable[[dict[str, Any], float], dict[str, Any]]:
    def go_on(given: dict[str, Any], deadline: float) -> dict[str, Any]:
        if "board" not in given:
            raise ValueError(f"{task}: board is missing: say which")
        if task == REBUILD and _GLOB.intersection(given["board"]):
            return _maintenance.rebuild.go_on_all(given["board"], given.get("cursor"), deadline)
        begin = given.get("begin", True)
        return asdict(_maintenance.rebuild.go_on(given["board"], task, deadline, begin=begin))

    return go_on


def _audit(given: dict[str, Any], deadline: float) -> dict[str, Any]:
    answer = _maintenance.audits.audit(deadline, **given)
    metrics.add_metric("Drift", MetricUnit.Count, answer["drift"])
    for board in answer["boards"]:
        if board["drift"]:
            logger.error("rankings differ from scores", extra=board)
    return answer


def _dead_letters(given: dict[str, Any], deadline: float) -> dict[str, Any]:
    return _maintenance.dead_letters.do(given, deadline)


def _parked(given: dict[str, Any], deadline: float) -> dict[str, Any]:
    return _maintenance.parked.do(given, deadline)


_DO: Final = {
    "audit": _audit,
    "rebuild": _job(REBUILD),
    "delete": _job(DELETE),
    "dead_letters": _dead_letters,
    "parked": _parked,
}


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Do one task, up to its end or that of the function's time; ValueError says what is wrong with it."""
    deadline = building_blocks.deadline(context.get_remaining_time_in_millis())
    task, given = task_of(event, _TASKS)
    answer = _DO[task](given, deadline)
    logger.info("task", extra={"task": event, "done": answer["done"]})
    return answer
