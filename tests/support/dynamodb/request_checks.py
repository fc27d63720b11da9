"""Checks whole requests as botocore does before it sends them: names, types and least sizes of all parameters.

The product sends its requests without these checks (`LightClient`), and DynamoDB would refuse what is wrong in them.
Benchmarks do without, so an engine makes them only within `checked`.
"""

from collections.abc import Iterator, Mapping
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
    report = ParamValidator().validate(dict(request), _shape(operation))
    if report.has_errors():
        raise ParamValidationError(report=report.generate_report())


@cache
def _shape(operation: str) -> Any:
    return get_session().get_service_model("dynamodb").operation_model(operation).input_shape
