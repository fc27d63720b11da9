"""Splits a JSON list into the texts of its values."""

import json
import re
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final, NamedTuple

import orjson

from standings.domain.errors import bad_body
from standings.domain.events.event_rules import no_constant

MAX_EVENTS: Final = 100

_WHITESPACE: Final = " \t\r\n"
# A string (one that is not closed runs to the end), a bracket or a comma. Possessive, so that no text takes long.
_MARK: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{},]', re.DOTALL)


class Document(NamedTuple):
    """A value of the body: its text as received, and the parsed value (None if no parser can hold it)."""

    text: str
    value: Any


def parse_documents(body: bytes) -> list[Document]:
    """Return the events of a body, each with its own text. Raise RequestError (400) for anything but events."""
    try:
        return [Document(text, _parse(text)) for text in _split(body.decode().strip(_WHITESPACE))]
    except ValueError as error:
        raise bad_body(f"expected an event, or a list of 1 to {MAX_EVENTS} events, as JSON: {error}") from error


def _split(text: str) -> list[str]:
    """Cut a list into the texts of its values, however deeply they are nested. An object stays whole."""
    if text.startswith("{"):
        return [text]
    if not text.startswith("["):
        raise ValueError("the body does not begin with { or [")
    cuts = [0]
    depth = 0
    for match in _MARK.finditer(text):
        mark = match[0]
        depth += (mark in ("[", "{")) - (mark in ("]", "}"))
        if not depth or (depth == 1 and mark == ","):
            cuts.append(match.start())
            if len(cuts) > MAX_EVENTS + 1:
                raise ValueError(f"the list has more than {MAX_EVENTS} values")
    if depth or cuts[-1] != len(text) - 1 or not text.endswith("]"):
        raise ValueError("the list does not end with its bracket")
    texts = [text[before + 1 : cut].strip(_WHITESPACE) for before, cut in pairwise(cuts)]
    if texts == [""]:
        raise ValueError("the list is empty")
    return texts


def _parse(text: str) -> Any:
    """Parse a JSON text. Return None for a value that no parser can hold; raise ValueError for invalid JSON."""
    with suppress(ValueError):
        return orjson.loads(text)
    # Invalid, or valid JSON of one bad event: a number out of bounds, half a surrogate pair, or deep nesting.
    try:
        value = json.loads(text, parse_int=str, parse_float=str, parse_constant=no_constant)
        orjson.dumps(value)
    except (RecursionError, TypeError):
        return None
    return value
