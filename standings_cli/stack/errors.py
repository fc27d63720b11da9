"""Errors of a stack, and what to do about them.

Nothing here needs AWS's packages, which take longer to import than all the rest.
"""

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from standings.client.errors import StackError
from standings_cli.terminal import DIFFERS, OK, say

if TYPE_CHECKING:
    from standings.client.api import Api

UNRANKED: Final = frozenset({"no-such-member", "not-ranked"})
"""Problem types that answer the question: the member is not ranked."""


class InputError(Exception):
    """A file, option or event that cannot be used. The message says why."""


class FunctionError(StackError):
    """The maintenance function failed. The message is the function's own error."""


_LOCAL: Final = "--local speaks to the stack that `make serve` has started"
_LOG_IN: Final = f"log in to AWS, or name a profile with --profile; {_LOCAL}"
_BY_CLASS: Final = {
    "NoRegionError": f"name one with --region, or a profile that has one with --profile; {_LOCAL}",
    "ProfileNotFound": "name a profile of your AWS configuration with --profile",
    **dict.fromkeys(("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError"), _LOG_IN),
    **dict.fromkeys(("TokenRetrievalError", "SSOTokenLoadError", "UnauthorizedSSOTokenError"), _LOG_IN),
}
_BY_CODE: Final = {
    **dict.fromkeys(("ExpiredToken", "ExpiredTokenException"), _LOG_IN),
    **dict.fromkeys(("InvalidClientTokenId", "UnrecognizedClientException"), _LOG_IN),
    "ValidationError": f"check --stack and --region; {_LOCAL}",
    "ResourceNotFoundException": "check --stack and --region, or deploy the stack again",
    "AWS.SimpleQueueService.NonExistentQueue": "check --queue-url and --region",
}
_DENIED: Final = "these credentials may not do that: name others with --profile"
_OTHERWISE: Final = "check the network, --region and --endpoint-url, then run the same command again"


def advice(error: Exception) -> str:
    """Return what to do about an error of AWS's clients."""
    names = [each.__name__ for each in type(error).__mro__]
    by_class = next((_BY_CLASS[name] for name in names if name in _BY_CLASS), None)
    if by_class is not None:
        return by_class
    response = getattr(error, "response", None)
    code = str(response["Error"].get("Code", "")) if isinstance(response, dict) else ""
    return _BY_CODE.get(code) or (_DENIED if "AccessDenied" in code else _OTHERWISE)


_MOST: Final = 1_000  # the most boards that the API answers at once


def unknown_board(api: "Api", board: str) -> str | None:
    """Return the problem that a board has had no event, with a suggestion; None if it has had one."""
    first = api.read("boards", prefix=board, limit=1)["boards"]
    if first and first[0]["board"] == board:
        return None
    names = [each["board"] for each in api.read("boards", limit=_MOST)["boards"]]
    close = get_close_matches(board, names, n=1)
    if close:
        hint = f"did you mean {close[0]!r}?"
    elif names:
        hint = "`standings boards list` shows the boards"
    else:
        hint = "no board has: post one with `standings post BOARD MEMBER METRIC=AMOUNT`"
    return f"board {board!r} has had no event: {hint}"


def unknown_status(api: "Api", board: str) -> int:
    """Return the exit status of an answer that an unknown board gives as well. If the board is unknown, say so."""
    problem = unknown_board(api, board)
    if problem is not None:
        say(f"standings: {problem}")
    return OK if problem is None else DIFFERS
