"""Profiles of members (name, picture, …), and how names are searched.

Names, pictures and data are personal. So no error here shows a value, only what was expected and its size or type.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

import orjson

from standings.domain.errors import InvalidBodyError

Field = Literal["name", "picture", "country", "data"]
Changes = Mapping[Field, str | None]
"""The fields to set, and those to remove (None): `{"name": "Ada", "picture": None}`. `data` is JSON text."""


class Profile(NamedTuple):
    """A member's profile: `Profile("Ada", country="DE", data='{"team":"red"}')`. A field that is not set is None."""

    name: str | None = None
    picture: str | None = None
    country: str | None = None
    data: str | None = None

    def fields(self) -> dict[str, Any]:
        """The profile as an answer has it: `{"name": "Ada", "picture": None, "country": "DE", "data": …}`."""
        return {**self._asdict(), "data": None if self.data is None else orjson.Fragment(self.data)}


def changes_of(document: Any) -> Changes:
    """The changes in a body such as `{"name": "Ada"}`; InvalidBodyError names a wrong field, never its value."""
    if not isinstance(document, dict):
        raise InvalidBodyError(f'expected an object such as {{"name": "Ada"}}, got {_type(document)}')
    for field in document:
        if field not in _RULES:
            raise InvalidBodyError(f"{ascii(field[:40])[1:-1]}: no such field; there are {', '.join(_RULES)}")
    if not document:
        raise InvalidBodyError(f"expected at least one of {', '.join(_RULES)}")
    return {field: None if value is None else _RULES[field](value) for field, value in document.items()}


MAX_NAME_LENGTH: Final = 64
# Control characters, line separators, and overrides and isolates of direction. So a name is one line, and cannot change
# how a page shows the text around it. The marks U+200E, U+200F and U+061C are allowed: real names have them.
_REFUSED: Final = re.compile("[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def _name(value: Any) -> str:
    written = _text("name", value).strip()
    # Composing takes time that grows with the square of the length, and shortens a text to a quarter at most.
    text = unicodedata.normalize("NFC", written) if len(written) <= 4 * MAX_NAME_LENGTH else written
    if not 1 <= len(text) <= MAX_NAME_LENGTH:
        raise InvalidBodyError(f"name: expected 1 to {MAX_NAME_LENGTH} characters, got {len(text)}")
    if found := _REFUSED.search(text):
        expected = "no control or bidirectional-override characters"
        raise InvalidBodyError(f"name: expected {expected}, got U+{ord(found[0]):04X}")
    if unicodedata.category(text[0]).startswith("M"):
        expected = f"a letter before the mark U+{ord(text[0]):04X}, which changes the letter before it"
        raise InvalidBodyError(f"name: expected {expected}")
    return text


MAX_PICTURE_LENGTH: Final = 512
# RFC 3986: a scheme, a host that is a name or an IPv4 address, perhaps a port, and the rest. No user, no password.
_PICTURE: Final = re.compile(
    r"https://[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?([/?#][A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]*)?"
)


def _picture(value: Any) -> str:
    text = _text("picture", value)
    if len(text) > MAX_PICTURE_LENGTH:
        raise InvalidBodyError(f"picture: expected at most {MAX_PICTURE_LENGTH} characters, got {len(text)}")
    if not _PICTURE.fullmatch(text):
        expected = "an address such as https://pictures.example/ada.png, without user or spaces"
        raise InvalidBodyError(f"picture: expected {expected}")
    return text


def _country(value: Any) -> str:
    text = _text("country", value)
    if not re.fullmatch("[A-Z]{2}", text):
        raise InvalidBodyError("country: expected two capital letters such as DE")
    return text


MAX_DATA_BYTES: Final = 1024


def _data(value: Any) -> str:
    if not isinstance(value, dict):
        raise InvalidBodyError(f"data: expected an object, got {_type(value)}")
    try:
        text = orjson.dumps(value)
    except TypeError as error:
        raise InvalidBodyError("data: expected fewer levels of nesting") from error
    if len(text) > MAX_DATA_BYTES:
        raise InvalidBodyError(f"data: expected at most {MAX_DATA_BYTES} bytes as JSON without spaces, got {len(text)}")
    return text.decode()


def _text(field: Field, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidBodyError(f"{field}: expected text or null, got {_type(value)}")
    return value


_NUMBER: Final = "a number"
_TYPES: Final = {str: "text", bool: "true or false", int: _NUMBER, float: _NUMBER, list: "a list", dict: "an object"}


def _type(value: Any) -> str:
    return _TYPES.get(type(value), "null")


_RULES: Final[Mapping[Field, Callable[[Any], str]]] = {
    "name": _name,
    "picture": _picture,
    "country": _country,
    "data": _data,
}
MIN_SEARCH_LENGTH: Final = 2
INDEXED_LENGTH: Final = 64  # Characters of a name's search form that the index holds
MAX_LOOKED_AT: Final = 200  # Profiles that a search on a board looks at


def search_form(text: str) -> str:
    """A text as the search compares it: without case, marks and spaces at the ends. `Ádám` is `adam`.

    If a text begins another, so does its search form. Letters that folding case composes are decomposed again (NFKD).
    """
    return _unmarked(_unmarked(text).casefold()).strip()


def _unmarked(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(character for character in decomposed if not unicodedata.category(character).startswith("M"))
