"""Checks whole requests as botocore does before it sends them: names, types and least sizes of all parameters.

The product sends the actions of its transactions without these checks (`send_as_built`), and DynamoDB would refuse what
is wrong in them. Benchmarks do without, so an engine makes them only within `checked`. What botocore's models say is
compiled to functions, because nearly all requests are right; what these do not accept, botocore judges.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import Any

from botocore.exceptions import ParamValidationError
from botocore.session import get_session
from botocore.validate import ParamValidator

_STEP = [0]
"""The step of the innermost `checked`; 0 outside."""
_NUMBERS = count()
_KNOWN: dict[str, Callable[[Any], bool]] = {}
_PLAIN: dict[str, type] = {"string": str, "boolean": bool, "integer": int, "blob": bytes}


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
    shape = _shape(operation)
    if not _is_right(shape)(request):
        report = ParamValidator().validate(dict(request), shape)
        if report.has_errors():
            raise ParamValidationError(report=report.generate_report())


@cache
def _shape(operation: str) -> Any:
    return get_session().get_service_model("dynamodb").operation_model(operation).input_shape


def _is_right(shape: Any) -> Callable[[Any], bool]:
    """Return a function that is true only for values that botocore accepts for a shape."""

    def later(value: Any) -> bool:
        """Stand for the function of a shape that is within itself."""
        return _KNOWN[shape.name](value)

    if shape.name not in _KNOWN:
        _KNOWN[shape.name] = later
        _KNOWN[shape.name] = _compiled(shape)
    return _KNOWN[shape.name]


def _compiled(shape: Any) -> Callable[[Any], bool]:
    least = shape.metadata.get("min", 0)
    if shape.type_name == "structure":
        required = frozenset(shape.metadata.get("required", ()))
        members = {name: _is_right(member) for name, member in shape.members.items()}
        return lambda value: (
            type(value) is dict
            and required <= value.keys() <= members.keys()
            and all(members[name](part) for name, part in value.items())
        )
    if shape.type_name == "map":
        of_key, of_value = _is_right(shape.key), _is_right(shape.value)
        return lambda value: type(value) is dict and all(map(of_key, value)) and all(map(of_value, value.values()))
    if shape.type_name == "list":
        of_member = _is_right(shape.member)
        return lambda value: type(value) in (list, tuple) and len(value) >= least and all(map(of_member, value))
    plain = _PLAIN.get(shape.type_name)
    if plain is str or plain is bytes:
        return lambda value: type(value) is plain and len(value) >= least
    return lambda value: type(value) is plain and (plain is bool or value >= least)
