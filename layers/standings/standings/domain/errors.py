"""Errors in a request, which its sender can correct. `standings.calls` has their HTTP statuses."""


class RequestError(Exception):
    """A request that cannot be answered. The text says why; programs go by `kind` (`bad-body`), people by `title`."""

    kind: str
    title: str


class InvalidArgumentError(RequestError):
    """An argument of the request is invalid."""

    kind, title = "bad-argument", "Bad argument"


class InvalidBodyError(RequestError):
    """The body of the request is invalid."""

    kind, title = "bad-body", "Bad body"


class TooFarError(RequestError):
    """An exact answer would read more than is allowed."""

    kind, title = "too-far", "Too far to count"


class NotYourMemberError(RequestError):
    """The caller may write for one member alone, and this is another."""

    kind, title = "not-your-member", "Not your member"


class NotFoundError(RequestError):
    """The request names something that does not exist: `kind` says what, such as `no-such-member`."""

    def __init__(self, kind: str, title: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.title = title


def bad_argument(name: str, detail: str) -> InvalidArgumentError:
    """The error of an invalid argument. Its text begins with the argument's name."""
    return InvalidArgumentError(f"{name}: {detail}")


def no_such_member(board: str, member: str) -> NotFoundError:
    """The error of a member that the board does not have, or no longer has."""
    return NotFoundError("no-such-member", "No such member", f"board {board!r} has no member {member!r}")


def ended(board: str, at: str | None) -> NotFoundError:
    """The error of a board that has ended at an instant such as `2027-01-20T10:15:00.000Z`."""
    detail = f"board {board!r} ended at {at}: nothing of it can be read, and it takes no events"
    return NotFoundError("expired", "Board has ended", detail)


def being_deleted(board: str) -> NotFoundError:
    """The error of a board whose members and ranks somebody is deleting."""
    detail = f"board {board!r} is being deleted; once that has ended, a new event begins it again"
    return NotFoundError("being-deleted", "Being deleted", detail)
