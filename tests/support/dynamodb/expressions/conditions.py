"""Parses conditions: ConditionExpression, FilterExpression and KeyConditionExpression.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.support.dynamodb.expressions.grammar import Path_, Reader

if TYPE_CHECKING:
    from collections.abc import Callable

COMPARATORS: Final = frozenset({"=", "<>", "<", "<=", ">", ">="})
FUNCTIONS: Final = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
}


@dataclass(frozen=True, slots=True)
class Operand:
    """A path or the placeholder of a value. With ``size``, the size of either."""

    path: Path_ = ()
    placeholder: str = ""
    size: bool = False

    def __str__(self) -> str:
        return "[" + ", ".join(map(str, self.path)) + "]" if self.path else self.placeholder


@dataclass(frozen=True, slots=True)
class Test:
    """A comparison or a function: ``operator`` applied to ``operands``."""

    operator: str
    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Junction:
    """AND, OR or NOT applied to other conditions."""

    operator: str
    parts: tuple[Node, ...]


Node = Test | Junction


@dataclass(frozen=True, slots=True)
class Condition:
    """A parsed condition and the placeholders it uses."""

    node: Node
    names: frozenset[str]
    values: frozenset[str]


class _Parser:
    def __init__(self, reader: Reader) -> None:
        self.read = reader
        self._bare_parentheses = False

    def either(self) -> Node:
        return self._junction("OR", self.both)

    def both(self) -> Node:
        return self._junction("AND", self.negation)

    def _junction(self, word: str, part: Callable[[], Node]) -> Node:
        parts = [part()]
        while self.read.accept(word):
            self.read.count_operator()
            parts.append(part())
            self._bare_parentheses = False
        return parts[0] if len(parts) == 1 else Junction(word, tuple(parts))

    def negation(self) -> Node:
        if self.read.accept("NOT"):
            self.read.count_operator()
            negated = Junction("NOT", (self.negation(),))
            self._bare_parentheses = False
            return negated
        if self.read.accept("("):
            node = self.either()
            self.read.expect(")")
            if self._bare_parentheses:
                raise self.read.invalid("The expression has redundant parentheses;")
            self._bare_parentheses = True
            return node
        test = self._test()
        self._bare_parentheses = False
        return test

    def _test(self) -> Test:
        read = self.read
        if read.after_next == "(" and read.next != "size":
            return self._function()
        first = self._operand()
        self.read.count_operator()
        if read.next in COMPARATORS:
            operator = read.take()
            return self._distinct(Test(operator, (first, self._operand())))
        if read.accept("BETWEEN"):
            low = self._operand()
            read.expect("AND")
            return self._distinct(Test("BETWEEN", (first, low, self._operand())))
        read.expect("IN")
        read.expect("(")
        operands = [first, self._operand()]
        while read.accept(","):
            operands.append(self._operand())
        read.expect(")")
        return self._distinct(Test("IN", tuple(operands)))

    def _distinct(self, test: Test) -> Test:
        first, *others = test.operands
        if first.path and first in others:
            raise self.read.invalid(
                "The first operand must be distinct from the remaining operands for this "
                f"operator or function; operator: {test.operator}, first operand: {first}"
            )
        return test

    def _function(self) -> Test:
        read = self.read
        name = read.next
        if name not in FUNCTIONS:
            if not name[0].isalpha():
                raise read.unexpected()
            raise read.invalid(f"Invalid function name; function: {name}")
        read.take()
        self.read.count_operator()
        read.expect("(")
        operands = [self._operand()]
        while read.accept(","):
            operands.append(self._operand())
        read.expect(")")
        if len(operands) != FUNCTIONS[name]:
            raise read.invalid(
                "Incorrect number of operands for operator or function; operator or function: "
                f"{name}, number of operands: {len(operands)}"
            )
        if not operands[0].path and name.startswith("attribute_"):
            raise read.invalid(f"Operator or function requires a document path; operator or function: {name}")
        return Test(name, tuple(operands))

    def _operand(self) -> Operand:
        read = self.read
        if read.next == "size" and read.after_next == "(":
            read.take()
            read.take()
            self.read.count_operator()
            inner = self._operand()
            read.expect(")")
            return Operand(inner.path, inner.placeholder, size=True)
        if read.next[0] == ":":
            return Operand(placeholder=read.value())
        return Operand(path=read.path())


def parse_condition(kind: str, text: str, names: tuple[tuple[str, str], ...]) -> Condition:
    """Parse a condition. ``kind`` is the name of its request parameter."""
    reader = Reader(kind, text, dict(names))
    node = _Parser(reader).either()
    reader.end()
    return Condition(node, frozenset(reader.used_names), frozenset(reader.used_values))
