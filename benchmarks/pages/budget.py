"""A budget: one line of the table of all of them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

Result = Mapping[str, Any]


class Budget(NamedTuple):
    """Its subject, the budget, the measured figure, and whether the figure is within it."""

    subject: str
    budget: str
    measured: str
    met: bool
