"""Errors between a client and a stack. Nothing here needs AWS's packages, which take long to import."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, NamedTuple


class ApiError(Exception):
    """A call was refused or failed: `status` of HTTP, and the problem's type as `kind`, empty if it has none.

    `ApiError(404, "not-ranked", "'u7' is not ranked in this period")`; its text is the problem's `detail`.
    """

    def __init__(self, status: int, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind

    @property
    def type(self) -> str:
        """The problem's type, such as `urn:standings:not-ranked`."""
        return f"urn:standings:{self.kind}"

    @property
    def detail(self) -> str:
        """What is wrong, and what to do, for people: `'u7' is hidden`."""
        return str(self)

    @property
    def is_temporary(self) -> bool:
        """Whether the same call may succeed later."""
        return self.status >= HTTPStatus.INTERNAL_SERVER_ERROR or self.status == HTTPStatus.TOO_MANY_REQUESTS


class BadArgument(ApiError):
    """A call is wrong, whatever the stack has stored. The text names the argument, what is expected and what it got."""


class NotAllowed(ApiError):
    """The credentials or the token do not allow this call."""


class NotFound(ApiError):
    """Something does not exist: `kind` says what, such as `no-such-board` or `not-ranked`."""


class StaleBoards(NotFound):
    """The client's definitions do not have it, and the stack uses other definitions for this board.

    The text names the board. Give the client the `boards.toml`, or the version of the layer, that the stack has.
    """


class Unavailable(ApiError):
    """The stack does not answer now. Try the same call again later."""


_ERRORS: Final[Mapping[int, type[ApiError]]] = {
    400: BadArgument,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    429: Unavailable,
}


def error_of(status: int, kind: str, detail: str) -> ApiError:
    """The error of a problem."""
    otherwise = Unavailable if status >= HTTPStatus.INTERNAL_SERVER_ERROR else ApiError
    return _ERRORS.get(status, otherwise)(status, kind, detail)


class StackError(Exception):
    """The stack does not exist, is not a stack of Standings, or cannot be reached this way."""


class NoAnswerError(Exception):
    """A request got no answer, or only a part of one. `is_temporary`: the same request may get one later."""

    def __init__(self, detail: str, *, is_temporary: bool = True) -> None:
        super().__init__(detail)
        self.is_temporary = is_temporary


class Unsent(NamedTuple):
    """An event that is not known to be on the queue, as a mapping with its id, and why.

    If only the answer of the queue was lost, the event is on it: sent again with the same id it still counts once.
    """

    event: Mapping[str, Any]
    reason: str


class PostError(Exception):
    """Some events were not sent: they are in `unsent`, each with its id. All others are on the queue.

    `client.post_event(error.unsent[0].event)` sends one again; it counts once in any case.
    """

    def __init__(self, unsent: Sequence[Unsent], of: int) -> None:
        first = unsent[0]
        super().__init__(
            f"{len(unsent)} of {of} events were not sent; the first is {first.event['id']!r}: {first.reason}"
        )
        self.unsent = tuple(unsent)
