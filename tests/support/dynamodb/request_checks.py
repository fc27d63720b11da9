"""Checks whole requests as botocore does before it sends them: names, types and least sizes of all parameters.

The product sends its requests without these checks (`LightClient`), and DynamoDB would refuse what is wrong in them.
Benchmarks do without, so an engine makes them only within `checked`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import count
from math import inf
from operator import call
from typing import Any

from botocore.exceptions import ParamValidationError
from botocore.session import get_session
from botocore.validate import ParamValidator

_STEP = [0]
"""The step of the innermost `checked`; 0 outside."""
_NUMBERS = count()


@contextmanager
def checked(step: int = 1) -> Iterator[None]:
    """Check every request to an engine, or with `step` one of so many."""
    _STEP.append(step)
    try:
        yield
    finally:
        _STEP.pop()


def check(operation: str, request: Mapping[str, Any]) -> None:
    """Raise ParamValidationError if botocore would, or would if the request were not sent as it was built."""
    if not _STEP[-1] or next(_NUMBERS) % _STEP[-1]:
        return
    if _passes(_model().operation_model(operation).input_shape.name)(request):
        return
    report = ParamValidator().validate(dict(request), _model().operation_model(operation).input_shape)
    if report.has_errors():
        raise ParamValidationError(report=report.generate_report())


@cache
def _model() -> Any:
    return get_session().get_service_model("dynamodb")


@cache
def _passes(name: str) -> Callable[[Any], bool]:
    """Return what sees at once that a value of a shape is right. Where it does not, botocore decides."""
    shape = _model().shape_for(name)
    kind, least = shape.type_name, shape.metadata.get("min", -inf)
    if kind == "string":
        return lambda value: isinstance(value, str) and len(value) >= least
    if kind == "integer":
        return lambda value: isinstance(value, int) and value >= least
    if kind == "list":
        member = shape.member.name
        return lambda value: isinstance(value, list) and len(value) >= least and all(map(_passes(member), value))
    if kind == "map":
        key, part = shape.key.name, shape.value.name
        return lambda value: (
            isinstance(value, dict) and all(map(_passes(key), value)) and all(map(_passes(part), value.values()))
        )
    if kind == "structure" and not shape.is_tagged_union:
        required, members = (
            set(shape.required_members),
            {one: _passes(shape.members[one].name) for one in shape.members},
        )
        return lambda value: (
            isinstance(value, dict)
            and required <= value.keys() <= members.keys()
            and all(map(call, map(members.__getitem__, value), value.values()))
        )
    types = {"boolean": bool, "blob": bytes}
    return lambda value: isinstance(value, types.get(kind, ()))
