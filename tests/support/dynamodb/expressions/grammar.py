"""Splits DynamoDB's expressions into tokens, and reads the parts that all of them share: names, values, paths.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.html
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.support.dynamodb.api.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST: Final = 4096
MAX_OPERATORS: Final = 300
RESERVED: Final = frozenset(Path(__file__).with_name("reserved_words.txt").read_text(encoding="ascii").split())
_TOKEN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*|[#:][A-Za-z0-9_]+|<=|>=|<>|[=<>(),+\-.\[\]]|[0-9]+|(\S)")
END: Final = "<EOF>"
Path_ = tuple[str | int, ...]


class Reader:
    """The tokens of one expression, read from left to right."""

    def __init__(self, kind: str, text: str, names: Mapping[str, str]) -> None:
        self.kind = kind
        self.names = names
        self.used_names: set[str] = set()
        self.used_values: set[str] = set()
        self._operators = 0
        self._at = 0
        if not text or text.isspace():
            raise self.invalid("The expression can not be empty;")
        if len(text.encode()) > LONGEST:
            raise self.invalid(
                f"Expression size has exceeded the maximum allowed size; expression size: {len(text.encode())}"
            )
        self._tokens: list[str] = []
        for match in _TOKEN.finditer(text):
            self._tokens.append(match.group())
            if match.group(1):
                self._at = len(self._tokens) - 1
                raise self.unexpected()
        self._tokens.append(END)

    def invalid(self, why: str) -> Invalid:
        return Invalid(f"Invalid {self.kind}: {why}")

    def count_operator(self) -> None:
        """Count an operator or a function. An expression has 300 at most."""
        self._operators += 1
        if self._operators > MAX_OPERATORS:
            raise self.invalid(f"The expression contains too many operators; operator count: {self._operators}")

    def unexpected(self) -> Invalid:
        token = self._tokens[self._at]
        near = " ".join(word for word in self._tokens[max(0, self._at - 1) : self._at + 2] if word != END)
        return self.invalid(f'Syntax error; token: "{token}", near: "{near}"')

    @property
    def next(self) -> str:
        return self._tokens[self._at]

    @property
    def after_next(self) -> str:
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    def take(self) -> str:
        token = self._tokens[self._at]
        if token is END:
            raise self.unexpected()
        self._at += 1
        return token

    def accept(self, word: str) -> bool:
        """Take the next token if it is this word, in upper or lower case."""
        if self._tokens[self._at].upper() != word:
            return False
        self._at += 1
        return True

    def expect(self, word: str) -> None:
        if not self.accept(word):
            raise self.unexpected()

    def end(self) -> None:
        if self.next is not END:
            raise self.unexpected()

    def value(self) -> str:
        """Read the placeholder of a value."""
        if self.next[0] != ":":
            raise self.unexpected()
        token = self.take()
        self.used_values.add(token)
        return token

    def path(self) -> Path_:
        """Read a document path and replace the placeholders of names."""
        parts: list[str | int] = [self._name()]
        while True:
            if self.accept("."):
                parts.append(self._name())
            elif self.accept("["):
                if not self.next.isdigit():
                    raise self.unexpected()
                parts.append(int(self.take()))
                self.expect("]")
            else:
                return tuple(parts)

    def _name(self) -> str:
        if self.next[0] == "#":
            token = self.take()
            self.used_names.add(token)
            if token not in self.names:
                raise self.invalid(
                    f"An expression attribute name used in the document path is not defined; attribute name: {token}"
                )
            return self.names[token]
        if not self.next[0].isalpha() or self.next is END:
            raise self.unexpected()
        if self.next.upper() in RESERVED:
            raise self.invalid(f"Attribute name is a reserved keyword; reserved keyword: {self.next}")
        return self.take()
