"""Parses and applies update expressions: SET, REMOVE, ADD and DELETE on top-level attributes, REMOVE in lists too.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from tests.support.dynamodb.api.errors import WRONG_OPERAND, Invalid, InvalidForItem
from tests.support.dynamodb.expressions.evaluation import Values, follow
from tests.support.dynamodb.expressions.grammar import END, Reader
from tests.support.dynamodb.expressions.operands import Compute, added, arithmetic, joined, present, without
from tests.support.dynamodb.storage.values import MISSING, Item, Value, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SETS: Final = frozenset({"SS", "NS", "BS"})


@dataclass(slots=True)
class Update:
    """A parsed update: the entries of each section, in the order of the expression."""

    sets: list[tuple[str, Compute]] = field(default_factory=list)
    adds: list[tuple[str, str]] = field(default_factory=list)
    deletes: list[tuple[str, str]] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)
    cuts: dict[str, set[int]] = field(default_factory=dict)
    """The places of the members that leave a list."""
    touched: dict[str, None] = field(default_factory=dict)
    arithmetic: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    names: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    name_bytes: int = 0

    def check(self, values: Values) -> None:
        """Reject operands whose type is wrong for every item."""
        for placeholder in self.values:
            if placeholder not in values:
                raise Invalid(
                    "Invalid UpdateExpression: An expression attribute value used in expression "
                    f"is not defined; attribute value: {placeholder}"
                )
        if not (self.deletes or self.lists) and all(type(values[name]) is int for name in self.values):
            return
        sections = (
            ("ADD", [placeholder for _, placeholder in self.adds], _SETS | {"N"}),
            ("DELETE", [placeholder for _, placeholder in self.deletes], _SETS),
            ("+", self.arithmetic, {"N"}),
            ("list_append", self.lists, {"L"}),
        )
        for name, placeholders, kinds in sections:
            for placeholder in placeholders:
                value = values[placeholder]
                if type(value) is int and "N" in kinds:
                    continue
                if kind_of(value) not in kinds:
                    raise Invalid(
                        "Invalid UpdateExpression: Incorrect operand type for operator or "
                        f"function; operator: {name}, operand type: {kind_of(value)}"
                    )

    def apply(self, old: Item, values: Values) -> Item:
        """Return the item after the update. Every operand is read from the old item."""
        new = dict(old)
        for name, compute in self.sets:
            new[name] = compute(old, values)
        for name, placeholder in self.adds:
            held = old.get(name, MISSING)
            new[name] = added(held, values[placeholder])
        for name, placeholder in self.deletes:
            held = old.get(name, MISSING)
            if held is MISSING:
                continue
            if kind_of(held) != kind_of(values[placeholder]):
                raise InvalidForItem(WRONG_OPERAND)
            left = held - values[placeholder]
            if left:
                new[name] = left
            else:
                del new[name]
        for name, places in self.cuts.items():
            new[name] = without(old.get(name, MISSING), places)
        for name in self.removes:
            new.pop(name, None)
        return new


class _Parser:
    def __init__(self, reader: Reader) -> None:
        self.read = reader
        self.update = Update()

    def parse(self) -> Update:
        sections: dict[str, Callable[[], None]] = {
            "SET": self._set,
            "REMOVE": self._remove,
            "ADD": lambda: self._pair(self.update.adds),
            "DELETE": lambda: self._pair(self.update.deletes),
        }
        seen: set[str] = set()
        while self.read.next is not END:
            word = self.read.next.upper()
            if word not in sections:
                raise self.read.unexpected()
            if word in seen:
                raise self.read.invalid(f'The "{word}" section can only be used once in an update expression;')
            seen.add(word)
            self.read.take()
            sections[word]()
            while self.read.accept(","):
                sections[word]()
        self.update.name_bytes = sum(len(name.encode()) for name in self.update.touched)
        self.update.names = frozenset(self.read.used_names)
        self.update.values = frozenset(self.read.used_values)
        return self.update

    def _target(self) -> str:
        path = self.read.path()
        if len(path) > 1:
            raise NotImplementedError("the engine updates top-level attributes only")
        name = str(path[0])
        if name in self.update.touched:
            raise self._overlap(name)
        self.update.touched[name] = None
        return name

    def _overlap(self, name: str) -> Invalid:
        return self.read.invalid(
            "Two document paths overlap with each other; must remove or rewrite one of these "
            f"paths; path one: [{name}], path two: [{name}]"
        )

    def _set(self) -> None:
        name = self._target()
        self.read.expect("=")
        self.update.sets.append((name, self._expression()))

    def _remove(self) -> None:
        if self.read.after_next != "[":
            self.update.removes.append(self._target())
            return
        name, *places = self.read.path()
        cuts = self.update.cuts.setdefault(str(name), set())
        if len(places) > 1 or not isinstance(places[0], int):
            raise NotImplementedError("the engine removes members of top-level lists only")
        if places[0] in cuts or (not cuts and name in self.update.touched):
            raise self._overlap(str(name))
        self.update.touched[str(name)] = None
        cuts.add(places[0])

    def _pair(self, section: list[tuple[str, str]]) -> None:
        name = self._target()
        section.append((name, self.read.value()))

    def _expression(self) -> Compute:
        start = self.read.next
        left = self._operand()
        if self.read.next not in {"+", "-"}:
            return lambda item, values: present(left(item, values))
        self.read.count_operator()
        sign = self.read.take()
        end = self.read.next
        right = self._operand()
        self.update.arithmetic += [token for token in (start, end) if token[0] == ":"]
        return arithmetic(left, right, minus=sign == "-")

    def _operand(self) -> Compute:
        read = self.read
        if read.accept("("):
            inner = self._expression()
            read.expect(")")
            return inner
        if read.next[0] == ":":
            placeholder = read.value()
            return lambda _, values: values[placeholder]
        if read.after_next == "(":
            return self._function(read.take())
        path = read.path()
        if len(path) == 1:
            name = str(path[0])
            return lambda item, _: item.get(name, MISSING)
        return lambda item, _: follow(item, path)

    def _argument(self) -> Compute:
        """Read an operand of a function."""
        if self.read.next == "list_append" and self.read.after_next == "(":
            raise self.read.invalid("The function is not allowed to be used this way; function: list_append")
        return self._operand()

    def _function(self, name: str) -> Compute:
        read = self.read
        read.count_operator()
        read.expect("(")
        if name == "if_not_exists":
            path = read.path()
            read.expect(",")
            other = self._argument()
            read.expect(")")

            def held_or_other(item: Mapping[str, Value], values: Values) -> Value:
                held = follow(item, path)
                instead = present(other(item, values))  # checked even if it is not needed
                return instead if held is MISSING else held

            return held_or_other
        if name != "list_append":
            raise read.invalid(f"Invalid function name; function: {name}")
        start = read.next
        first = self._argument()
        read.expect(",")
        end = read.next
        second = self._argument()
        read.expect(")")
        self.update.lists += [token for token in (start, end) if token[0] == ":"]
        return joined(first, second)


@lru_cache(maxsize=1 << 14)
def parse_update(text: str, names: tuple[tuple[str, str], ...]) -> Update:
    """Parse an UpdateExpression."""
    return _Parser(Reader("UpdateExpression", text, dict(names))).parse()
