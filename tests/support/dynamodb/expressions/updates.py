"""Parses and applies update expressions: SET, REMOVE, ADD and DELETE on top-level attributes.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from tests.support.dynamodb.api.errors import MISSING_OPERAND, WRONG_OPERAND, Invalid, InvalidForItem
from tests.support.dynamodb.expressions.evaluation import Values, follow
from tests.support.dynamodb.expressions.grammar import END, Reader
from tests.support.dynamodb.storage.values import EXACT, MISSING, Item, Value, canonical, kind_of

Compute = Callable[[Mapping[str, Value], Values], Value]
_SETS: Final = frozenset({"SS", "NS", "BS"})
_PLAIN: Final = 10**38


@dataclass(slots=True)
class Update:
    """A parsed update: the entries of each section, in the order of the expression."""

    sets: list[tuple[str, Compute]] = field(default_factory=list)
    adds: list[tuple[str, str]] = field(default_factory=list)
    deletes: list[tuple[str, str]] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)
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
            new[name] = _added(held, values[placeholder])
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
        for name in self.removes:
            new.pop(name, None)
        return new


def _sum(left: Value, right: Value) -> int | Decimal:
    if type(left) is int and type(right) is int:
        total = left + right
        if -_PLAIN < total < _PLAIN:
            return total
    try:
        return canonical(EXACT.add(Decimal(left), Decimal(right)))
    except Invalid as refusal:
        raise InvalidForItem(refusal.message) from refusal


def _added(held: Value, value: Value) -> Value:
    if held is MISSING:
        return value
    if type(held) is int and type(value) is int:
        return _sum(held, value)
    if kind_of(held) != kind_of(value):
        raise InvalidForItem(WRONG_OPERAND)
    return held | value if type(held) is frozenset else _sum(held, value)


def _present(value: Value) -> Value:
    if value is MISSING:
        raise InvalidForItem(MISSING_OPERAND)
    return value


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
            raise self.read.invalid(
                "Two document paths overlap with each other; must remove or rewrite one of these "
                f"paths; path one: [{name}], path two: [{name}]"
            )
        self.update.touched[name] = None
        return name

    def _set(self) -> None:
        name = self._target()
        self.read.expect("=")
        self.update.sets.append((name, self._expression()))

    def _remove(self) -> None:
        self.update.removes.append(self._target())

    def _pair(self, section: list[tuple[str, str]]) -> None:
        name = self._target()
        section.append((name, self.read.value()))

    def _expression(self) -> Compute:
        start = self.read.next
        left = self._operand()
        if self.read.next not in {"+", "-"}:
            return lambda item, values: _present(left(item, values))
        sign = self.read.take()
        end = self.read.next
        right = self._operand()
        self.update.arithmetic += [token for token in (start, end) if token[0] == ":"]
        return _arithmetic(left, right, minus=sign == "-")

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

    def _function(self, name: str) -> Compute:
        read = self.read
        read.expect("(")
        if name == "if_not_exists":
            path = read.path()
            read.expect(",")
            other = self._operand()
            read.expect(")")

            def held_or_other(item: Mapping[str, Value], values: Values) -> Value:
                held = follow(item, path)
                instead = _present(other(item, values))  # checked even if it is not needed
                return instead if held is MISSING else held

            return held_or_other
        if name != "list_append":
            raise read.invalid(f"Invalid function name; function: {name}")
        start = read.next
        first = self._operand()
        read.expect(",")
        end = read.next
        second = self._operand()
        read.expect(")")
        self.update.lists += [token for token in (start, end) if token[0] == ":"]
        return _joined(first, second)


def _arithmetic(left: Compute, right: Compute, *, minus: bool) -> Compute:
    def compute(item: Mapping[str, Value], values: Values) -> Value:
        one, two = _present(left(item, values)), _present(right(item, values))
        if kind_of(one) != "N" or kind_of(two) != "N":
            raise InvalidForItem(WRONG_OPERAND)
        return _sum(one, (-two if type(two) is int else two.copy_negate()) if minus else two)

    return compute


def _joined(first: Compute, second: Compute) -> Compute:
    def compute(item: Mapping[str, Value], values: Values) -> Value:
        one, two = _present(first(item, values)), _present(second(item, values))
        if type(one) is not tuple or type(two) is not tuple:
            raise InvalidForItem(WRONG_OPERAND)
        joined: tuple[Any, ...] = one + two
        return joined

    return compute


@lru_cache(maxsize=1 << 14)
def parse_update(text: str, names: tuple[tuple[str, str], ...]) -> Update:
    """Parse an UpdateExpression."""
    return _Parser(Reader("UpdateExpression", text, dict(names))).parse()
