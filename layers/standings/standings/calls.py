"""The calls of the API: routes, scopes and arguments, and the problem that an error is.

The functions answer by this table, the client calls by it, and `api/` describes it in `functions/query/openapi.json`.
So names, kinds, limits and defaults agree in all three.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple

from standings.domain.boards import size_of
from standings.domain.errors import NotFoundError, NotYourMemberError, RequestError, bad_argument
from standings.domain.events import MAX_SHOWN_LENGTH

READ: Final = "standings/read"
WRITE: Final = "standings/write"
ADMIN: Final = "standings/admin"


class Call(NamedTuple):
    """A call of the API, with the scope that a token needs for it: `Call("GET", "/boards", READ, {…})`."""

    method: str
    path: str
    scope: str
    arguments: Mapping[str, "Argument"]


_MAX_DIGITS: Final = 15
MAX_TEXT_BYTES: Final = 2_500
"""The most bytes of a text. The longest cursor has fewer, and API Gateway takes an address with so many, encoded."""


class Argument(NamedTuple):
    """An argument of the query string.

    - `kind`: a `text`, a `whole` number from `least` to `most`, or a `flag`, which is `true` or `false`.
    - `default`: the number of a request that gives none.
    - `missing`: what the error says if it is left out, such as "say which member"; "" if it is optional.
    """

    kind: Literal["text", "whole", "flag"] = "text"
    least: int = 0
    most: int = 0
    default: int = 0
    missing: str = ""

    def check(self, name: str, text: str) -> None:
        """Raise InvalidArgumentError if a text is no value of `name`. What a `text` says, its reader checks."""
        if (size := size_of(name, text)) > MAX_TEXT_BYTES:
            raise bad_argument(name, f"expected at most {MAX_TEXT_BYTES} bytes of UTF-8, got {size}")
        got = repr(text[:MAX_SHOWN_LENGTH])
        if self.kind == "flag" and text not in ("true", "false"):
            raise bad_argument(name, f"expected true or false, got {got}")
        if self.kind == "whole":
            digits = text.removeprefix("-") if self.least < 0 else text
            if not (digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS):
                raise bad_argument(name, f"expected a whole number of up to {_MAX_DIGITS} digits, got {got}")
            if not self.least <= int(text) <= self.most:
                raise bad_argument(name, f"expected from {self.least} to {self.most}, got {int(text)}")


_PROFILE: Final = "/members"
_MEMBER: Final = "/boards/<board>/member"
RANKING: Final = "/boards/<board>/<metric>/<window>"

_TEXT: Final = Argument()
_FLAG: Final = Argument("flag")
_LIMIT: Final = Argument("whole", 1, 1_000, 100)
_POSITION: Final = Argument("whole", 1 - 10**_MAX_DIGITS, 10**_MAX_DIGITS - 1)
_POSTED: Final = {"dry_run": _FLAG, "history": _FLAG, "wait": Argument("whole", 1, 10)}
_ID: Final = {"id": Argument(missing="say which member")}
_BOARDS_OF: Final = {"limit": Argument("whole", 1, 100, 100), "cursor": _TEXT, "ranks": _FLAG, "window": _TEXT}
_PERIOD: Final = {"period": _TEXT, "method": _TEXT}
_SHOWN: Final = {"profiles": _FLAG, "notes": _FLAG}
_STARTS: Final = {"cursor": _TEXT, "rank": _POSITION, "score": _TEXT, "tie_breaks": _TEXT, "around": _TEXT}
_PAGE: Final = {"limit": _LIMIT, **_STARTS, "radius": Argument("whole", 0, 100, 5), "me": _TEXT}
_FOUND: Final = {"id": _TEXT, "name": _TEXT, "board": _TEXT, "limit": Argument("whole", 1, 20, 20)}
_RANKED: Final = {"member": _TEXT, "score": _TEXT, "tie_breaks": _TEXT, "previous": _FLAG}
_HISTORY: Final = {"member": Argument(missing="say whose history"), "periods": Argument("whole", 1, 100, 14)}
_PERCENTILE: Final = {"p": Argument(missing="say which percentile, such as 90")}
_BUCKETS: Final = {"buckets": Argument("whole", 1, 1_000, 50)}

CALLS: Final[Mapping[str, Call]] = {
    "postEvents": Call("POST", "/events", WRITE, _POSTED),
    "getEvent": Call("GET", "/events", WRITE, {"id": Argument(missing="say which event")}),
    "getProfile": Call("GET", _PROFILE, READ, _FOUND),
    "putProfile": Call("PUT", _PROFILE, ADMIN, _ID),
    "deleteProfile": Call("DELETE", _PROFILE, ADMIN, _ID),
    "listMemberBoards": Call("GET", f"{_PROFILE}/boards", READ, {**_ID, **_BOARDS_OF}),
    "listBoards": Call("GET", "/boards", READ, {"prefix": _TEXT, "limit": _LIMIT, "cursor": _TEXT}),
    "getBoard": Call("GET", "/boards/<board>", READ, {}),
    "deleteBoard": Call("DELETE", "/boards/<board>", ADMIN, {}),
    "getMember": Call("GET", _MEMBER, READ, {**_ID, "ranks": _FLAG, "method": _TEXT, **_SHOWN}),
    "putMember": Call("PUT", _MEMBER, ADMIN, _ID),
    "deleteMember": Call("DELETE", _MEMBER, ADMIN, _ID),
    "listRanking": Call("GET", RANKING, READ, {**_PERIOD, **_PAGE, **_SHOWN}),
    "getRank": Call("GET", f"{RANKING}/rank", READ, {**_PERIOD, **_RANKED, **_SHOWN}),
    "getHistory": Call("GET", f"{RANKING}/history", READ, {**_PERIOD, **_HISTORY}),
    "rankGroup": Call("POST", f"{RANKING}/ranks", READ, {**_PERIOD, "previous": _FLAG, **_SHOWN}),
    "getPercentile": Call("GET", f"{RANKING}/percentile", READ, {**_PERIOD, **_PERCENTILE}),
    "getDistribution": Call("GET", f"{RANKING}/distribution", READ, {**_PERIOD, **_BUCKETS}),
    "doTask": Call("POST", "/tasks", ADMIN, {}),
    "getAbout": Call("GET", "/", READ, {}),
    "getDescription": Call("GET", "/openapi.json", READ, {}),
}
"""Every call for programs, by the name that generated clients give it."""


class Arguments(dict[str, str]):
    """The arguments of a request, each one that its call knows. Errors are `InvalidArgumentError`s that name one."""

    def __init__(self, known: Mapping[str, Argument], pairs: Iterable[tuple[str, str]]) -> None:
        super().__init__()
        self._known = known
        for name, text in pairs:
            if name not in known:
                there_are = f"there are {', '.join(known)}" if known else "there are none"
                raise bad_argument(short(name), f"no such argument; {there_are}")
            if name in self:
                raise bad_argument(name, "is given more than once")
            known[name].check(name, text)
            self[name] = text
        for name, argument in known.items():
            if argument.missing:
                self.required(name, argument.missing)

    def required(self, name: str, hint: str) -> str:
        """An argument that must be present. If not, InvalidArgumentError gives a `hint`, such as "say which member"."""
        if name not in self:
            raise bad_argument(name, f"is missing: {hint}")
        return self[name]

    def whole(self, name: str) -> int:
        """A whole number, or its default."""
        return int(self.get(name, self._known[name].default))

    def flag(self, name: str) -> bool:
        """Whether it is `true`; false if absent."""
        return self.get(name) == "true"


def short(text: str) -> str:
    """The first characters of a client's text, for a message. Lone surrogates become `?`: JSON cannot hold them."""
    return text[:MAX_SHOWN_LENGTH].encode(errors="replace").decode()


class Problem(NamedTuple):
    """A problem (RFC 9457): `Problem(404, "not-ranked", "Not ranked", "'u7' is not ranked in this period")`."""

    status: int
    kind: str
    title: str
    detail: str


def problem_of(error: RequestError) -> Problem:
    """The problem of a request that its sender can correct: 400, 403 or 404. Nothing else knows an error's status."""
    status = 403 if isinstance(error, NotYourMemberError) else 404 if isinstance(error, NotFoundError) else 400
    return Problem(status, error.kind, error.title, str(error))


RETRY_AFTER_S: Final = 5
UNAVAILABLE: Final = Problem(
    503, "unavailable", "Try again", f"the store does not answer just now: try again in {RETRY_AFTER_S} seconds"
)
"""The problem of a store that is throttled or down."""
