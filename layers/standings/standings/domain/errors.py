"""Errors that a client can mend."""


class Problem(Exception):
    """Why a question has no answer: `kind` tells problems of one status from each other."""

    def __init__(self, status: int, kind: str, title: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.document = {
            "type": f"urn:standings:{kind}",
            "title": title,
            "status": status,
            "detail": detail,
        }


def bad_argument(name: str, detail: str) -> Problem:
    """400: an argument that cannot be, named."""
    return Problem(400, "bad-argument", "Bad argument", f"{name}: {detail}")


def bad_body(detail: str) -> Problem:
    """400: the body of a request cannot be what it has to be."""
    return Problem(400, "bad-body", "Bad body", detail)


def not_found(kind: str, title: str, detail: str) -> Problem:
    """404, of one of several kinds."""
    return Problem(404, kind, title, detail)


def no_such_member(board: str, member: str) -> Problem:
    """404: nobody of that name, or not any more."""
    return not_found("no-such-member", "No such member", f"board {board!r} has no member {member!r}")
