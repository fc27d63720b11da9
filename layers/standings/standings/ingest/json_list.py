"""Splits a JSON list into the texts of its values."""

import json
import re
from itertools import pairwise
from typing import Any, Final, NamedTuple

import orjson

from standings.domain.errors import bad_body
from standings.domain.events.event_rules import no_constant

MAX_EVENTS: Final = 100

_WHITESPACE: Final = " \t\r\n"
# A string (one without an end goes on to the end), a bracket or a comma; possessive, so that no text takes long.
_MARK: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{},]', re.DOTALL)
_EXPECTED: Final = f"must be an event, or a list of 1 to {MAX_EVENTS} events"


class Document(NamedTuple):
    """A value of the body: its text as it came, and what it says (None where that is not even readable)."""

    text: str
    said: Any


def parse_documents(body: bytes) -> list[Document]:
    """The events of a body, each with its own text; Problem for a body that is no event and no list of events."""
    try:
        text = body.decode().strip(_WHITESPACE)
    except ValueError as error:
        raise bad_body(f"{_EXPECTED}, is no UTF-8: {error}") from error
    if not text.startswith(("{", "[")):
        raise bad_body(f"{_EXPECTED}, in JSON")
    try:
        texts = _split(text) if text.startswith("[") else [text]
        if not 1 <= len(texts) <= MAX_EVENTS:
            raise bad_body(f"{_EXPECTED}, is a list of {len(texts)}")
        return [Document(each, _read(each)) for each in texts]
    except ValueError as error:
        raise bad_body(f"{_EXPECTED}, is no JSON: {error}") from error


def _split(text: str) -> list[str]:
    """The texts of a list's values, which are all JSON if, and only if, the list is; ValueError where it has no end."""
    cuts = [0]
    depth = 0
    for found in _MARK.finditer(text):
        mark = found[0]
        depth += (mark in ("[", "{")) - (mark in ("]", "}"))
        if not depth or (depth == 1 and mark == ","):
            cuts.append(found.start())
            if len(cuts) > MAX_EVENTS + 1:
                raise bad_body(f"{_EXPECTED}, is a longer list")
    if depth or cuts[-1] != len(text) - 1 or not text.endswith("]"):
        raise ValueError("the list has no end")
    texts = [text[before + 1 : cut].strip(_WHITESPACE) for before, cut in pairwise(cuts)]
    return [] if texts == [""] else texts


def _read(text: str) -> Any:
    """What a JSON text says; None for what only nearly can be read; ValueError for what is no JSON."""
    try:
        return orjson.loads(text)
    except ValueError:
        # A number beyond all bounds, half a character, a nesting without end: good JSON of one bad event.
        try:
            said = json.loads(text, parse_int=str, parse_float=str, parse_constant=no_constant)
            orjson.dumps(said)
        except (RecursionError, TypeError):
            return None
        return said
