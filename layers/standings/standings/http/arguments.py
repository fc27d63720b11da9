"""The arguments in the query string of a request."""

from urllib.parse import parse_qsl

from standings.domain.errors import bad_argument
from standings.domain.events.event import MAX_SHOWN_LENGTH

_MAX_DIGITS = 15


class Arguments(dict[str, str]):
    """Arguments by name. Every error is an `InvalidArgumentError` that begins with the argument's name."""

    def required(self, name: str, hint: str) -> str:
        """An argument that must be present; `hint` says what to give."""
        if name not in self:
            raise bad_argument(name, f"is missing: {hint}")
        return self[name]

    def whole(self, name: str, default: int) -> int:
        """A whole number without a sign."""
        text = self.get(name, str(default))
        if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
            raise bad_argument(
                name, f"must be a whole number of up to {_MAX_DIGITS} digits, is {text[:MAX_SHOWN_LENGTH]!r}"
            )
        return int(text)

    def flag(self, name: str) -> bool:
        """`true` or `false`; false if absent."""
        text = self.get(name, "false")
        if text not in ("true", "false"):
            raise bad_argument(name, f"must be true or false, is {text[:MAX_SHOWN_LENGTH]!r}")
        return text == "true"


def parse_arguments(query_string: str, known: tuple[str, ...]) -> Arguments:
    """The arguments of a query string. Unknown and repeated arguments are errors."""
    arguments = Arguments()
    try:
        pairs = parse_qsl(query_string, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError as error:
        raise bad_argument("query", f"must be UTF-8: {error}") from error
    for name, value in pairs:
        if name not in known:
            there_are = f"there are {', '.join(known)}" if known else "there are none"
            raise bad_argument(shown(name), f"no such argument; {there_are}")
        if name in arguments:
            raise bad_argument(name, "is given more than once")
        arguments[name] = value
    return arguments


def shown(text: str) -> str:
    """A client's text, short enough for a message and with lone surrogates replaced, which JSON cannot hold."""
    return text[:MAX_SHOWN_LENGTH].encode(errors="replace").decode()
