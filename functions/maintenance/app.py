"""The maintenance function: what people ask for now and then. Each call does as much as its time allows.

An event has one task: `{"rebuild": {"board": "b"}}`, `{"delete": {"board": "b"}}`. The answer says whether it is
`done`; where it is not, the same event once more, with `"begin": false`, goes on with it.
"""

from dataclasses import asdict
from typing import Any

from standings.runtime import wiring
from standings.runtime.config import Config
from standings.runtime.observability import logger, metrics
from standings.services.rebuild import REBUILD, NoSuchBoardError
from standings.services.registry import DELETE

_maintenance = wiring.maintenance(Config.from_environment(), wiring.pacing())


class TaskError(ValueError):
    """A task that is none; the message says what is."""


def _rebuild(arguments: dict[str, Any], deadline: float, *, task: str = REBUILD) -> dict[str, Any]:
    board = _text(arguments, "board")
    begin = arguments.pop("begin", True) is not False
    _nothing_else(arguments)
    try:
        return asdict(_maintenance.rebuild.go_on(board, task, deadline, begin=begin))
    except NoSuchBoardError as error:
        raise TaskError(str(error)) from error


def _delete(arguments: dict[str, Any], deadline: float) -> dict[str, Any]:
    return _rebuild(arguments, deadline, task=DELETE)


_TASKS = {"rebuild": _rebuild, "delete": _delete}


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Do one task, up to its end or that of the function's time."""
    deadline = wiring.deadline(context.get_remaining_time_in_millis())
    if len(event) != 1 or not event.keys() <= _TASKS.keys():
        raise TaskError(f"an event has one task, one of {', '.join(_TASKS)}; is {sorted(event)}")
    ((task, arguments),) = event.items()
    if not isinstance(arguments, dict):
        raise TaskError(f"{task}: must be an object")
    answer = _TASKS[task](dict(arguments), deadline)
    logger.info(task, extra={"arguments": arguments, "answer": answer})
    return answer


def _text(arguments: dict[str, Any], name: str) -> str:
    value = arguments.pop(name, None)
    if not isinstance(value, str) or not value:
        raise TaskError(f"{name}: must be text, is {value!r}")
    return value


def _nothing_else(arguments: dict[str, Any]) -> None:
    if arguments:
        raise TaskError(f"unknown: {', '.join(sorted(arguments))}")
