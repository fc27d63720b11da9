"""Reads the events of the maintenance function: `{"parked": {"replay": {"board": "b"}}}`."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Union


class Task(NamedTuple):
    """A task, called as `do(deadline, **arguments)`. `arguments` gives the type of each; a list holds texts."""

    do: Callable[..., dict[str, Any]]
    arguments: Mapping[str, type]
    required: str | None = None


Tasks = Mapping[str, Union[Task, "Tasks"]]  # Tasks by name, or groups of tasks


def task_of(event: Any, tasks: Tasks, group: str = "") -> tuple[Task, dict[str, Any]]:
    """The one task that an event names, and its arguments: `{"audit": {"board": "b"}}` names `audit`, for one board.

    Arguments that are null are left out. Raises ValueError, which says what is wrong with the event.
    """
    names = ", ".join(tasks)
    if not (isinstance(event, dict) and len(event) == 1):
        raise ValueError(f"{group}expected an object with one of {names}, got {event!a}")
    ((name, arguments),) = event.items()
    task = tasks.get(name)
    if task is None:
        raise ValueError(f"{group}expected one of {names}, got {name!a}")
    if not isinstance(task, Task):
        return task_of(arguments, task, f"{name}: ")
    if not isinstance(arguments, dict):
        raise ValueError(f"{name}: expected an object of arguments, got {arguments!a}")  # noqa: TRY004 - bad JSON
    arguments = {argument: value for argument, value in arguments.items() if value is not None}
    for argument, value in arguments.items():
        if argument not in task.arguments:
            raise ValueError(f"{name}: expected arguments {', '.join(task.arguments)}, got {argument!a}")
        kind = task.arguments[argument]
        if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
            raise ValueError(f"{name}: {argument}: expected a value of type {kind.__name__}, got {value!a}")
        if isinstance(value, list) and not all(isinstance(one, str) for one in value):
            raise ValueError(f"{name}: {argument}: expected a list of texts, got {value!a}")
    if task.required is not None and task.required not in arguments:
        raise ValueError(f"{name}: {task.required} is missing")
    return task, arguments
