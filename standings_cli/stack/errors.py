"""What goes wrong with a stack. These need none of AWS's packages, which take longer to import than all the rest."""

from http import HTTPStatus
from typing import Final

UNRANKED: Final = frozenset({"no-such-member", "not-ranked"})
"""Problem types that answer the question: the member is not ranked."""


class ApiError(Exception):
    """The API refused or failed: `status` of HTTP, and the problem's type as `kind`, empty if it has none."""

    def __init__(self, status: int, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status >= HTTPStatus.INTERNAL_SERVER_ERROR or self.status == HTTPStatus.TOO_MANY_REQUESTS


class StackError(Exception):
    """The stack does not exist or is not a stack of Standings."""


class FunctionError(Exception):
    """The function failed, or what it was asked for is a mistake. The message is the function's own error."""

    def __init__(self, detail: str, *, is_mistake: bool = False) -> None:
        super().__init__(detail)
        self.is_mistake = is_mistake


class NoAnswerError(Exception):
    """A request got no answer, or only a part of one. `is_temporary`: the same request may get one later."""

    def __init__(self, detail: str, *, is_temporary: bool = True) -> None:
        super().__init__(detail)
        self.is_temporary = is_temporary
