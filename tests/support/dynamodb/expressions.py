"""The expressions of DynamoDB's requests: their text is parsed once, and compiled to functions of an item.

There are no filters. Conditions have no IN, `size` and `attribute_type`. Only key conditions have BETWEEN and
`begins_with`, and `contains` looks into sets only. Updates have SET, REMOVE and ADD. All are on top-level attributes;
REMOVE in lists too. A sum or a function has no other one inside, except for `if_not_exists(…) + …`.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from tests.support.dynamodb.errors import INVALID_PATH, MISSING_OPERAND, WRONG_OPERAND, Invalid, InvalidForItem
from tests.support.dynamodb.items import MISSING, TOO_LARGE, Item, Value, decode_item, kind_of, same

LONGEST: Final = 4096
MAX_OPERATORS: Final = 300
RESERVED: Final = frozenset(Path(__file__).with_name("reserved_words.txt").read_text(encoding="ascii").split())
END: Final = "<EOF>"
_ABSENT: Final = frozenset({"IN", "size", "attribute_type", "DELETE", "-", "."})
_TOKEN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*|[#:][A-Za-z0-9_]+|<=|>=|<>|[0-9]+|\S")

Names = tuple[tuple[str, str], ...]
Values = Mapping[str, Value]
Compute = Callable[[Mapping[str, Value], Values], Value]
"""Returns an operand, from the item as it was and the values of the request. It may be MISSING."""
Holds = Callable[[Mapping[str, Value], Values], bool]


class Reader:
    """The tokens of one expression, read from left to right, and what has to be checked against the request's values.

    ``operands`` are the placeholders whose values may have some types only, and ``betweens`` the pairs of bounds.
    """

    def __init__(self, kind: str, text: str, aliases: Names) -> None:
        self.kind = kind
        self.names: set[str] = set()
        self.values: set[str] = set()
        self.operands: list[tuple[str, frozenset[str]]] = []
        self.betweens: list[tuple[str, str]] = []
        self._aliases = dict(aliases)
        self._operators = 0
        self._at = 0
        self._tokens: list[str] = [*_TOKEN.findall(text), END]
        if self.next is END or len(text.encode()) > LONGEST:
            raise self.invalid(f"Expression size is 0 or above {LONGEST}")
        if not _ABSENT.isdisjoint(self._tokens):
            raise NotImplementedError(f"the engine has no {_ABSENT.intersection(self._tokens)}: {text}")

    def invalid(self, why: str) -> Invalid:
        return Invalid(f"Invalid {self.kind}: {why}")

    def unexpected(self) -> Invalid:
        return self.invalid(f'Syntax error; token: "{self.next}"')

    def count_operator(self) -> None:
        """Count an operator or a function. An expression has 300 at most."""
        self._operators += 1
        if self._operators > MAX_OPERATORS:
            raise self.invalid("The expression contains too many operators")

    @property
    def next(self) -> str:
        return self._tokens[self._at]

    @property
    def after_next(self) -> str:
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    def take(self) -> str:
        token = self.next
        if token is END:
            raise self.unexpected()
        self._at += 1
        return token

    def accept(self, word: str) -> bool:
        """Take the next token if it is this word, in upper or lower case."""
        if self.next.upper() != word:
            return False
        self._at += 1
        return True

    def expect(self, word: str) -> None:
        if not self.accept(word):
            raise self.unexpected()

    def separated(self, part: Callable[[], Any]) -> list[Any]:
        parts = [part()]
        while self.accept(","):
            parts.append(part())
        return parts

    def end(self) -> None:
        if self.next is not END:
            raise self.unexpected()

    def value(self) -> str:
        if self.next[0] != ":":
            raise self.unexpected()
        self.values.add(self.next)
        return self.take()

    def name(self) -> str:
        """Read the name of an attribute, or the placeholder of one."""
        token = self.next
        if token[0] == "#" and token in self._aliases:
            self.names.add(token)
        elif not token[0].isalpha() or token.upper() in RESERVED:
            raise self.invalid(f"a name that is reserved, not defined, or no name: {token}")
        return self._aliases.get(self.take(), token)

    def whole(self) -> str:
        """Read the name of an attribute that is used as a whole."""
        name = self.name()
        if self.next == "[":
            raise NotImplementedError("the engine has paths into attributes only for the members that REMOVE names")
        return name


# Conditions ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Operand:
    """An attribute, as a path of one name, or the placeholder of a value."""

    path: tuple[str, ...] = ()
    placeholder: str = ""


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

_COMPARATORS: Final = frozenset({"=", "<>", "<", "<=", ">", ">="})
_FUNCTIONS: Final = {"attribute_exists": 1, "attribute_not_exists": 1, "begins_with": 2, "contains": 2}
_ORDERED: Final = frozenset({"S", "N", "B"})
_OPERANDS: Final = {**dict.fromkeys(("<", "<=", ">", ">=", "BETWEEN"), _ORDERED), "begins_with": _ORDERED - {"N"}}
"""The types that the values of an operator may have; the others take any."""


class Condition(Reader):
    """Reads a condition. ``kind`` is the name of its request parameter."""

    def __init__(self, kind: str, text: str, aliases: Names) -> None:
        super().__init__(kind, text, aliases)
        self._bare_parentheses = False
        self.node = self._either()
        self.end()

    def _either(self) -> Node:
        return self._junction("OR", lambda: self._junction("AND", self._negation))

    def _junction(self, word: str, part: Callable[[], Node]) -> Node:
        parts = [part()]
        while self.accept(word):
            self.count_operator()
            parts.append(part())
            self._bare_parentheses = False
        return parts[0] if len(parts) == 1 else Junction(word, tuple(parts))

    def _negation(self) -> Node:
        if self.accept("("):
            node = self._either()
            self.expect(")")
            if self._bare_parentheses:
                raise self.invalid("The expression has redundant parentheses")
            self._bare_parentheses = True
            return node
        if self.accept("NOT"):
            self.count_operator()
            node = Junction("NOT", (self._negation(),))
        else:
            self.count_operator()
            node = self._test()
        self._bare_parentheses = False
        return node

    def _test(self) -> Test:
        if self.after_next == "(":
            return self._function()
        first = self._operand()
        if self.accept("BETWEEN"):
            name, others = "BETWEEN", [self._operand()]
            self.expect("AND")
            others.append(self._operand())
            if others[0].placeholder and others[1].placeholder:
                self.betweens.append((others[0].placeholder, others[1].placeholder))
        elif self.next in _COMPARATORS:
            name, others = self.take(), [self._operand()]
        else:
            raise self.unexpected()
        if first.path and first in others:
            raise self.invalid(f"The first operand must be distinct from the others: {first.path}")
        return self._checked(name, [first, *others])

    def _function(self) -> Test:
        name = self.take()
        self.expect("(")
        operands = self.separated(self._operand)
        self.expect(")")
        if len(operands) != _FUNCTIONS.get(name):
            raise self.invalid(f"no such function, or too many or too few operands: {name}")
        if not operands[0].path and name.startswith("attribute_"):
            raise self.invalid(f"{name} requires a document path")
        return self._checked(name, operands)

    def _checked(self, name: str, operands: list[Operand]) -> Test:
        if name in _OPERANDS:
            self.operands += [(each.placeholder, _OPERANDS[name]) for each in operands if each.placeholder]
        return Test(name, tuple(operands))

    def _operand(self) -> Operand:
        return Operand(placeholder=self.value()) if self.next[0] == ":" else Operand((self.whole(),))


parse_condition = Condition


_ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPARABLE: Final = frozenset({int, str, bytes})


def comparable(left: Value, right: Value) -> bool:
    """Whether two values can be ordered: two numbers, two texts or two byte strings."""
    return type(left) is type(right) and type(left) in _COMPARABLE


def _attribute(name: str) -> Compute:
    return lambda item, _: item.get(name, MISSING)


def _given(placeholder: str) -> Compute:
    return lambda _, values: values[placeholder]


def _fetch(operand: Operand) -> Compute:
    return _attribute(operand.path[0]) if operand.path else _given(operand.placeholder)


def _contains(whole: Value, part: Value) -> bool:
    if type(whole) in {str, bytes, tuple}:
        raise NotImplementedError("the engine has contains(…) for sets only")
    return type(whole) is frozenset and any(same(member, part) for member in whole)


_BINARY: Final[dict[str, Callable[[Value, Value], bool]]] = {
    "=": same,
    "<>": lambda left, right: left is MISSING or not same(left, right),
    "contains": _contains,
}


def _compile_test(node: Test) -> Holds:
    name = node.operator
    first, *others = map(_fetch, node.operands)
    second = others[0] if others else first
    if name == "attribute_exists":
        return lambda item, values: first(item, values) is not MISSING
    if name == "attribute_not_exists":
        return lambda item, values: first(item, values) is MISSING
    if name in _ORDER:
        compare = _ORDER[name]

        def ordered(item: Mapping[str, Value], values: Values) -> bool:
            left, right = first(item, values), second(item, values)
            return comparable(left, right) and compare(left, right)

        return ordered
    if name not in _BINARY:
        raise NotImplementedError(f"the engine has {name} in key conditions only")
    holds = _BINARY[name]
    return lambda item, values: holds(first(item, values), second(item, values))


def _compile(node: Node) -> Holds:
    if isinstance(node, Test):
        return _compile_test(node)
    first, *others = map(_compile, node.parts)
    if node.operator == "NOT":
        return lambda item, values: not first(item, values)
    if len(others) > 1:
        parts = (first, *others)
        combine = all if node.operator == "AND" else any
        return lambda item, values: combine(part(item, values) for part in parts)
    (second,) = others
    if node.operator == "AND":
        return lambda item, values: first(item, values) and second(item, values)
    return lambda item, values: first(item, values) or second(item, values)


# Updates -------------------------------------------------------------------------------------------------------------

_NUMBER: Final = frozenset({"N"})
_LIST: Final = frozenset({"L"})


def _sum(left: Value, right: Value) -> Value:
    if type(left) is not int or type(right) is not int:
        raise InvalidForItem(WRONG_OPERAND)
    if abs(left + right) >= TOO_LARGE:
        raise NotImplementedError("the engine has whole numbers below 10^38 only")
    return left + right


def _added(held: Value, value: Value) -> Value:
    """Return what ADD stores: a sum, or the union of two sets."""
    if held is MISSING:
        return value
    return held | value if type(held) is frozenset and type(value) is frozenset else _sum(held, value)


def _joined(one: Value, two: Value) -> Value:
    if type(one) is not tuple or type(two) is not tuple:
        raise InvalidForItem(WRONG_OPERAND)
    return (*one, *two)


def _without(held: Value, places: set[int]) -> Value:
    """Return a list without the members at some places. Places behind its end are no error."""
    if type(held) is not tuple:
        raise InvalidForItem(INVALID_PATH)
    return tuple(member for place, member in enumerate(held) if place not in places)


def _present(value: Value) -> Value:
    if value is MISSING:
        raise InvalidForItem(MISSING_OPERAND)
    return value


def _of_both(combine: Callable[[Value, Value], Value], left: Compute, right: Compute) -> Compute:
    return lambda item, values: combine(_present(left(item, values)), _present(right(item, values)))


class Update(Reader):
    """Reads an UpdateExpression: the entries of each section, in the order of the expression.

    ``assigned`` are the attributes that SET gives a value of the request as it is, ``cuts`` the places of the members
    that leave a list, and ``touched`` all attributes that the update names.
    """

    def __init__(self, kind: str, text: str, aliases: Names) -> None:
        super().__init__(kind, text, aliases)
        self.assigned: list[tuple[str, str]] = []
        self.sets: list[tuple[str, Compute]] = []
        self.adds: list[tuple[str, str]] = []
        self.removes: list[str] = []
        self.cuts: dict[str, set[int]] = {}
        self.touched: dict[str, None] = {}
        sections = {"SET": self._set, "REMOVE": self._remove, "ADD": self._add}
        while self.next is not END:
            section = sections.pop(self.next.upper(), None)  # each can be used once
            if section is None:
                raise self.unexpected()
            self.take()
            self.separated(section)
        self.name_bytes = sum(len(name.encode()) for name in self.touched)

    def apply(self, old: Item, values: Values) -> Item:
        """Return the item after the update. Every operand is read from the old item."""
        new = dict(old)
        for name, placeholder in self.assigned:
            new[name] = values[placeholder]
        for name, compute in self.sets:
            new[name] = _present(compute(old, values))
        for name, placeholder in self.adds:
            new[name] = _added(old.get(name, MISSING), values[placeholder])
        for name, places in self.cuts.items():
            new[name] = _without(old.get(name, MISSING), places)
        for name in self.removes:
            new.pop(name, None)
        return new

    def _target(self) -> str:
        name = self.whole()
        if name in self.touched:
            raise self.invalid(f"Two document paths overlap with each other: {name}")
        self.touched[name] = None
        return name

    def _set(self) -> None:
        name = self._target()
        self.expect("=")
        if self.next[0] == ":" and self.after_next != "+":
            self.assigned.append((name, self.value()))
            return
        left = self._term()
        if self.accept("+"):
            self.count_operator()
            left = _of_both(_sum, left, self._term())
        self.sets.append((name, left))

    def _remove(self) -> None:
        if self.after_next != "[":
            self.removes.append(self._target())
            return
        name = self.name()
        self.expect("[")
        place = self.take()
        self.expect("]")
        cuts = self.cuts.setdefault(name, set())
        if not place.isdigit() or int(place) in cuts or (not cuts and name in self.touched):
            raise self.invalid(f"no place, or two document paths overlap with each other: {name}")
        self.touched[name] = None
        cuts.add(int(place))

    def _add(self) -> None:
        self.adds.append((self._target(), self.value()))
        self.operands.append((self.adds[-1][1], _NUMBER | {"NS"}))

    def _term(self) -> Compute:
        if self.after_next != "(":
            return self._operand(_NUMBER)
        self.count_operator()
        name = self.take()
        self.expect("(")
        if name == "if_not_exists":
            held = _attribute(self.whole())
            self.expect(",")
            other = self._operand()
        elif name == "list_append":
            held = self._operand(_LIST)
            self.expect(",")
            other = self._operand(_LIST)
        else:
            raise self.invalid(f"Invalid function name; function: {name}")
        self.expect(")")
        return _or_else(held, other) if name == "if_not_exists" else _of_both(_joined, held, other)

    def _operand(self, kinds: frozenset[str] | None = None) -> Compute:
        if self.next == "(" or self.after_next == "(":
            raise NotImplementedError("the engine has no sum or function inside another one")
        if self.next[0] != ":":
            return _attribute(self.whole())
        if kinds is not None:
            self.operands.append((self.next, kinds))
        return _given(self.value())


def _or_else(held: Compute, other: Compute) -> Compute:
    def held_or_other(item: Mapping[str, Value], values: Values) -> Value:
        value, instead = held(item, values), _present(other(item, values))  # checked even if it is not needed
        return instead if value is MISSING else value

    return held_or_other


# The expressions of one request --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plan:
    """The parsed expressions of a request, and what its names and values must be."""

    update: Update | None
    holds: Mapping[str, Holds]
    nodes: Mapping[str, Node]
    projection: tuple[str, ...] | None
    names: frozenset[str]
    values: frozenset[str]
    operands: tuple[tuple[str, frozenset[str]], ...]
    betweens: tuple[tuple[str, str], ...]

    def check(self, values: Values) -> None:
        for placeholder, allowed in self.operands:
            if kind_of(values[placeholder]) not in allowed:
                raise Invalid(f"Incorrect operand type: {placeholder} is {kind_of(values[placeholder])}")
        for low, high in self.betweens:
            if not comparable(values[low], values[high]) or values[low] > values[high]:
                raise Invalid("The BETWEEN operator requires a lower bound and an upper bound of one data type")


@lru_cache(maxsize=1 << 14)
def _plan(texts: tuple[tuple[str, str], ...], names: Names) -> Plan:
    update = projection = None
    nodes: dict[str, Node] = {}
    readers: list[Reader] = []
    for kind, text in texts:
        if kind == "UpdateExpression":
            update = Update(kind, text, names)
            readers.append(update)
        elif kind == "ProjectionExpression":
            reader = Reader(kind, text, names)
            projection = tuple(reader.separated(reader.whole))
            reader.end()
            if len(set(projection)) != len(projection):
                raise reader.invalid("Two document paths overlap with each other")
            readers.append(reader)
        else:
            condition = Condition(kind, text, names)
            nodes[kind] = condition.node
            readers.append(condition)
    return Plan(
        update,
        {kind: _compile(node) for kind, node in nodes.items() if kind != "KeyConditionExpression"},
        nodes,
        projection,
        frozenset(name for reader in readers for name in reader.names),
        frozenset(value for reader in readers for value in reader.values),
        tuple(operand for reader in readers for operand in reader.operands),
        tuple(bounds for reader in readers for bounds in reader.betweens),
    )


class Expressions:
    """The expressions of a request, parsed and checked against its names and values."""

    __slots__ = ("condition", "plan", "update", "values")

    def __init__(self, plan: Plan, values: Values) -> None:
        self.plan = plan
        self.values = values
        self.update = plan.update
        self.condition = plan.holds.get("ConditionExpression")


_NONE: Final = Expressions(_plan((), ()), {})


def read_expressions(request: Mapping[str, Any], allowed: tuple[str, ...]) -> Expressions:
    """Parse and check the expressions of a request. ``allowed`` names the parameters that may hold one."""
    texts = tuple([(kind, request[kind]) for kind in allowed if kind in request])
    names, wire_values = request.get("ExpressionAttributeNames"), request.get("ExpressionAttributeValues")
    if not texts and names is None and wire_values is None:
        return _NONE
    plan = _plan(texts, tuple(names.items()) if names else ())
    if (names or {}).keys() != plan.names or (wire_values or {}).keys() != plan.values or {} in (names, wire_values):
        raise Invalid("ExpressionAttributeNames and ExpressionAttributeValues must be those that the expressions use")
    if not wire_values:
        return Expressions(plan, {})
    values = decode_item(wire_values)
    if plan.operands or plan.betweens:
        plan.check(values)
    return Expressions(plan, values)
