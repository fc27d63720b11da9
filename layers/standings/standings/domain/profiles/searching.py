"""How names are compared in a search by their beginning."""

import unicodedata
from typing import Final

MIN_SEARCH_LENGTH: Final = 2
INDEXED_LENGTH: Final = 64  # Characters of a name's search form that the index holds
MAX_FOUND: Final = 20
MAX_LOOKED_AT: Final = 200  # Profiles that a search on a board looks at


def search_form(text: str) -> str:
    """A text without case, marks and differences of form: `Ádám` is `adam`, and a beginning of it stays one.

    Compatible characters become equal (NFKD), marks go, and so do spaces at the ends. A folded letter may be composed,
    so it is decomposed again.
    """
    return _unmarked(_unmarked(text).casefold()).strip()


def begins_with(name: str, beginning: str) -> bool:
    """Whether a name's search form begins with another search form."""
    return search_form(name).startswith(beginning)


def _unmarked(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(character for character in decomposed if not unicodedata.category(character).startswith("M"))
