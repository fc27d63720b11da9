"""Tasks of maintenance, as they are asked for: `{"replay": {"board": "b"}}`."""

from collections.abc import Mapping
from typing import Any

Arguments = Mapping[str, type]
"""The arguments that a task takes, each with what it must be."""


def task_of(asked: Any, known: Mapping[str, Arguments]) -> tuple[str, dict[str, Any]]:
    """The name of the one task that is asked for, and its arguments; ValueError says what is wrong.

    An argument that is null is as good as absent.
    """
    if not (isinstance(asked, dict) and len(asked) == 1):
        raise ValueError(f"must be an object with one of {', '.join(known)}")
    ((name, given),) = asked.items()
    if name not in known:
        raise ValueError(f"{name!r}: no such task; there are {', '.join(known)}")
    if not isinstance(given, dict):
        raise ValueError(f"{name}: must be an object of arguments, which may be empty")  # noqa: TRY004 - JSON's, not ours
    arguments = {argument: value for argument, value in given.items() if value is not None}
    for argument, value in arguments.items():
        kind = known[name].get(argument)
        if kind is None:
            raise ValueError(f"{name}: no argument {argument!r}; there are {', '.join(known[name])}")
        if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
            raise ValueError(f"{name}: {argument} must be of type {kind.__name__}")
    return name, arguments


def texts(name: str, value: list[Any]) -> frozenset[str]:
    """A list of texts as a set; ValueError where it holds something else."""
    if not all(isinstance(one, str) for one in value):
        raise ValueError(f"{name}: must be a list of texts")
    return frozenset(value)
