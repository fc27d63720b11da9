"""The expressions of DynamoDB's requests: their text is parsed once, and compiled to functions of an item.

Conditions (ConditionExpression, FilterExpression and KeyConditionExpression) without IN, `size` and `attribute_type`,
and updates: SET, REMOVE and ADD on top-level attributes, REMOVE in lists too.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from tests.support.dynamodb.errors import INVALID_PATH, MISSING_OPERAND, WRONG_OPERAND, Invalid, InvalidForItem
from tests.support.dynamodb.items import EXACT, MISSING, Item, Value, canonical, decode_item, kind_of, same

LONGEST: Final = 4096
MAX_OPERATORS: Final = 300
RESERVED: Final = frozenset(Path(__file__).with_name("reserved_words.txt").read_text(encoding="ascii").split())
END: Final = "<EOF>"
_ABSENT: Final = frozenset({"IN", "size", "attribute_type", "DELETE"})
_TOKEN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*|[#:][A-Za-z0-9_]+|<=|>=|<>|[=<>(),+\-.\[\]]|[0-9]+|(\S)")

Names = tuple[tuple[str, str], ...]
Path_ = tuple[str | int, ...]
Values = Mapping[str, Value]
Compute = Callable[[Mapping[str, Value], Values], Value]
"""Returns an operand, from the item as it was and the values of the request. It may be MISSING."""
Holds = Callable[[Mapping[str, Value], Values], bool]


class Reader:
    """The tokens of one expression, read from left to right, and what has to be checked against the request's values.

    ``operands`` are the placeholders whose values may have some types only, and ``betweens`` the pairs of bounds.
    """

    def __init__(self, kind: str, text: str, names: Mapping[str, str]) -> None:
        self.kind = kind
        self.names = names
        self.used_names: set[str] = set()
        self.used_values: set[str] = set()
        self.operands: list[tuple[str, str, frozenset[str]]] = []
        self.betweens: list[tuple[str, str]] = []
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
        if not _ABSENT.isdisjoint(self._tokens):
            raise NotImplementedError(f"the engine has no {_ABSENT.intersection(self._tokens)}: {text}")
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


# Conditions ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Operand:
    """A path or the placeholder of a value."""

    path: Path_ = ()
    placeholder: str = ""

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

_COMPARATORS: Final = frozenset({"=", "<>", "<", "<=", ">", ">="})
_FUNCTIONS: Final = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "begins_with": 2,
    "contains": 2,
}
_ORDERED: Final = frozenset({"S", "N", "B"})
_OPERANDS: Final = {
    **dict.fromkeys(("<", "<=", ">", ">=", "BETWEEN"), _ORDERED),
    "begins_with": _ORDERED - {"N"},
}
"""The types that the values of an operator may have; the others take any."""


class ConditionParser:
    """Reads a condition. ``kind`` is the name of its request parameter."""

    def __init__(self, kind: str, text: str, names: Names) -> None:
        self.read = Reader(kind, text, dict(names))
        self._bare_parentheses = False

    def parse(self) -> Node:
        node = self._either()
        self.read.end()
        return node

    def _either(self) -> Node:
        return self._junction("OR", self._both)

    def _both(self) -> Node:
        return self._junction("AND", self._negation)

    def _junction(self, word: str, part: Callable[[], Node]) -> Node:
        parts = [part()]
        while self.read.accept(word):
            self.read.count_operator()
            parts.append(part())
            self._bare_parentheses = False
        return parts[0] if len(parts) == 1 else Junction(word, tuple(parts))

    def _negation(self) -> Node:
        if self.read.accept("NOT"):
            self.read.count_operator()
            negated = Junction("NOT", (self._negation(),))
            self._bare_parentheses = False
            return negated
        if self.read.accept("("):
            node = self._either()
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
        if read.after_next == "(" and read.next.upper() != "IN":
            return self._function()
        first = self._operand()
        read.count_operator()
        if read.next in _COMPARATORS:
            return self._compared(read.take(), first, self._operand())
        if read.accept("BETWEEN"):
            low = self._operand()
            read.expect("AND")
            high = self._operand()
            if low.placeholder and high.placeholder:
                read.betweens.append((low.placeholder, high.placeholder))
            return self._compared("BETWEEN", first, low, high)
        raise read.unexpected()

    def _compared(self, name: str, first: Operand, *others: Operand) -> Test:
        if first.path and first in others:
            raise self.read.invalid(
                "The first operand must be distinct from the remaining operands for this "
                f"operator or function; operator: {name}, first operand: {first}"
            )
        return self._checked(Test(name, (first, *others)))

    def _checked(self, test: Test) -> Test:
        if test.operator in _OPERANDS:
            self.read.operands += [
                (test.operator, operand.placeholder, _OPERANDS[test.operator])
                for operand in test.operands
                if operand.placeholder
            ]
        return test

    def _function(self) -> Test:
        read = self.read
        name = read.next
        if name not in _FUNCTIONS:
            if not name[0].isalpha():
                raise read.unexpected()
            raise read.invalid(f"Invalid function name; function: {name}")
        read.take()
        read.count_operator()
        operands = self._arguments()
        if len(operands) != _FUNCTIONS[name]:
            raise read.invalid(
                "Incorrect number of operands for operator or function; operator or function: "
                f"{name}, number of operands: {len(operands)}"
            )
        if not operands[0].path and name.startswith("attribute_"):
            raise read.invalid(f"Operator or function requires a document path; operator or function: {name}")
        return self._checked(Test(name, tuple(operands)))

    def _arguments(self) -> list[Operand]:
        self.read.expect("(")
        operands = [self._operand()]
        while self.read.accept(","):
            operands.append(self._operand())
        self.read.expect(")")
        return operands

    def _operand(self) -> Operand:
        read = self.read
        if read.next[0] == ":":
            return Operand(placeholder=read.value())
        return Operand(path=read.path())


@dataclass(frozen=True, slots=True)
class Condition:
    """A parsed condition and the placeholders it uses."""

    node: Node
    names: frozenset[str]
    values: frozenset[str]


def parse_condition(kind: str, text: str, names: Names) -> Condition:
    """Parse a condition. ``kind`` is the name of its request parameter."""
    parser = ConditionParser(kind, text, names)
    node = parser.parse()
    return Condition(node, frozenset(parser.read.used_names), frozenset(parser.read.used_values))


_ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMBERS: Final = frozenset({int, Decimal})
_COMPARABLE: Final = frozenset({int, Decimal, str, bytes})


def comparable(left: Value, right: Value) -> bool:
    """Whether two values can be ordered: two numbers, two texts or two byte strings."""
    one, two = type(left), type(right)
    if one is two:
        return one in _COMPARABLE
    return one in _NUMBERS and two in _NUMBERS


def follow(item: Mapping[str, Value], path: Path_) -> Value:
    """Return the value at a document path, or MISSING."""
    value: Value = item
    for part in path:
        if isinstance(part, str):
            if not isinstance(value, (dict, MappingProxyType)) or part not in value:
                return MISSING
        elif type(value) is not tuple or part >= len(value):
            return MISSING
        value = value[part]
    return value


def _at(path: Path_) -> Compute:
    if len(path) > 1:
        return lambda item, _: follow(item, path)
    name = str(path[0])
    return lambda item, _: item.get(name, MISSING)


def _fetch(operand: Operand) -> Compute:
    if operand.placeholder:
        placeholder = operand.placeholder
        return lambda _, values: values[placeholder]
    return _at(operand.path)


def _contains(whole: Value, part: Value) -> bool:
    if type(whole) in {str, bytes}:
        return type(part) is type(whole) and part in whole
    if type(whole) in {tuple, frozenset}:
        return any(same(member, part) for member in whole)
    return False


def _begins(whole: Value, start: Value) -> bool:
    return type(whole) in {str, bytes} and type(start) is type(whole) and whole.startswith(start)


_BINARY: Final[dict[str, Callable[[Value, Value], bool]]] = {
    "=": same,
    "<>": lambda left, right: left is MISSING or not same(left, right),
    "contains": _contains,
    "begins_with": _begins,
}


def _compile_test(node: Test) -> Holds:
    name = node.operator
    first, *others = map(_fetch, node.operands)
    if name == "attribute_exists":
        return lambda item, values: first(item, values) is not MISSING
    if name == "attribute_not_exists":
        return lambda item, values: first(item, values) is MISSING
    second = others[0]
    if name in _ORDER:
        compare = _ORDER[name]

        def ordered(item: Mapping[str, Value], values: Values) -> bool:
            left, right = first(item, values), second(item, values)
            return comparable(left, right) and compare(left, right)

        return ordered
    if name in _BINARY:
        holds = _BINARY[name]
        return lambda item, values: holds(first(item, values), second(item, values))

    def between(item: Mapping[str, Value], values: Values) -> bool:
        value, low, high = (fetch(item, values) for fetch in (first, *others))
        return comparable(value, low) and comparable(value, high) and bool(low <= value <= high)

    return between


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

_PLAIN: Final = 10**38
_SETS: Final = frozenset({"SS", "NS", "BS"})
_NUMBER: Final = frozenset({"N"})


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
    """Return what ADD stores: a sum, or the union of two sets."""
    if held is MISSING:
        return value
    if type(held) is int and type(value) is int:
        return _sum(held, value)
    if kind_of(held) != kind_of(value):
        raise InvalidForItem(WRONG_OPERAND)
    return held | value if type(held) is frozenset else _sum(held, value)


def _without(held: Value, places: set[int]) -> Value:
    """Return a list without the members at some places. Places behind its end are no error."""
    if type(held) is not tuple:
        raise InvalidForItem(INVALID_PATH)
    return tuple(member for place, member in enumerate(held) if place not in places)


def _present(value: Value) -> Value:
    if value is MISSING:
        raise InvalidForItem(MISSING_OPERAND)
    return value


@dataclass(slots=True)
class Update:
    """A parsed update: the entries of each section, in the order of the expression.

    ``assigned`` are the attributes that SET gives a value of the request as it is, ``cuts`` the places of the members
    that leave a list, and ``touched`` all attributes that the update names.
    """

    assigned: list[tuple[str, str]] = field(default_factory=list)
    sets: list[tuple[str, Compute]] = field(default_factory=list)
    adds: list[tuple[str, str]] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)
    cuts: dict[str, set[int]] = field(default_factory=dict)
    touched: dict[str, None] = field(default_factory=dict)
    name_bytes: int = 0

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


class UpdateParser:
    """Reads an UpdateExpression."""

    def __init__(self, text: str, names: Names) -> None:
        self.read = Reader("UpdateExpression", text, dict(names))
        self.update = Update()

    def parse(self) -> Update:
        sections: dict[str, Callable[[], None]] = {
            "SET": self._set,
            "REMOVE": self._remove,
            "ADD": self._add,
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
        if self.read.next[0] == ":" and self.read.after_next not in {"+", "-"}:
            self.update.assigned.append((name, self.read.value()))
        else:
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

    def _add(self) -> None:
        self.update.adds.append((self._target(), self.read.value()))
        self.read.operands.append(("ADD", self.update.adds[-1][1], _SETS | _NUMBER))

    def _expression(self) -> Compute:
        start = self.read.next
        left = self._operand()
        if self.read.next not in {"+", "-"}:
            return left
        self.read.count_operator()
        minus = self.read.take() == "-"
        end = self.read.next
        right = self._operand()
        self.read.operands += [("+", token, _NUMBER) for token in (start, end) if token[0] == ":"]

        def total(item: Mapping[str, Value], values: Values) -> Value:
            one, two = _present(left(item, values)), _present(right(item, values))
            if kind_of(one) != "N" or kind_of(two) != "N":
                raise InvalidForItem(WRONG_OPERAND)
            return _sum(one, (-two if type(two) is int else two.copy_negate()) if minus else two)

        return total

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
        return _at(read.path())

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
                instead = _present(other(item, values))  # checked even if it is not needed
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
        read.operands += [("list_append", token, frozenset({"L"})) for token in (start, end) if token[0] == ":"]

        def joined(item: Mapping[str, Value], values: Values) -> Value:
            one, two = _present(first(item, values)), _present(second(item, values))
            if type(one) is not tuple or type(two) is not tuple:
                raise InvalidForItem(WRONG_OPERAND)
            return (*one, *two)

        return joined


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
    operands: tuple[tuple[str, str, str, frozenset[str]], ...]
    betweens: tuple[tuple[str, str, str], ...]

    def check(self, values: Values) -> None:
        """Reject values that no item could make valid."""
        for kind, name, placeholder, allowed in self.operands:
            if kind_of(values[placeholder]) not in allowed:
                raise Invalid(
                    f"Invalid {kind}: Incorrect operand type for operator or function; "
                    f"operator or function: {name}, operand type: {kind_of(values[placeholder])}"
                )
        for kind, low, high in self.betweens:
            if not comparable(values[low], values[high]):
                raise Invalid(
                    f"Invalid {kind}: The BETWEEN operator requires same data type for lower and upper bounds"
                )
            if values[low] > values[high]:
                raise Invalid(
                    f"Invalid {kind}: "
                    "The BETWEEN operator requires upper bound to be greater than or equal to lower bound"
                )


def _projection(read: Reader) -> tuple[str, ...]:
    paths = [read.path()]
    while read.accept(","):
        paths.append(read.path())
    read.end()
    if any(len(path) > 1 for path in paths):
        raise NotImplementedError("the engine projects top-level attributes only")
    attributes = tuple(str(path[0]) for path in paths)
    if len(set(attributes)) != len(attributes):
        raise read.invalid("Two document paths overlap with each other")
    return attributes


@lru_cache(maxsize=1 << 14)
def _plan(texts: tuple[tuple[str, str], ...], names: Names) -> Plan:
    update = projection = None
    nodes: dict[str, Node] = {}
    readers: list[Reader] = []
    for kind, text in texts:
        if kind == "UpdateExpression":
            updating = UpdateParser(text, names)
            update = updating.parse()
            readers.append(updating.read)
        elif kind == "ProjectionExpression":
            readers.append(Reader(kind, text, dict(names)))
            projection = _projection(readers[-1])
        else:
            condition = ConditionParser(kind, text, names)
            nodes[kind] = condition.parse()
            readers.append(condition.read)
    return Plan(
        update,
        {kind: _compile(node) for kind, node in nodes.items()},
        nodes,
        projection,
        frozenset(name for read in readers for name in read.used_names),
        frozenset(value for read in readers for value in read.used_values),
        tuple((read.kind, *operand) for read in readers for operand in read.operands),
        tuple((read.kind, *bounds) for read in readers for bounds in read.betweens),
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


def _check_given(request: Mapping[str, Any], plan: Plan, expressions: tuple[str, ...]) -> None:
    """Raise if names or values were given for nothing, or are not those that the expressions use."""
    for parameter, used in (("ExpressionAttributeNames", plan.names), ("ExpressionAttributeValues", plan.values)):
        given = request.get(parameter, {})
        if parameter in request and not given:
            raise Invalid(f"{parameter} must not be empty")
        if given and not any(request.get(name) is not None for name in expressions):
            raise Invalid(f"{parameter} can only be specified when using expressions: {expressions[0]} is null")
        if missing := used - given.keys():
            raise Invalid(
                f"Invalid {expressions[0]}: An expression attribute value used in expression is not "
                f"defined; attribute value: {min(missing)}"
            )
        if unused := given.keys() - used:
            raise Invalid(f"Value provided in {parameter} unused in expressions: keys: {{{', '.join(sorted(unused))}}}")


def read_expressions(request: Mapping[str, Any], allowed: tuple[str, ...]) -> Expressions:
    """Parse and check the expressions of a request. ``allowed`` names the parameters that may hold one."""
    texts = tuple([(kind, request[kind]) for kind in allowed if kind in request])
    names, wire_values = request.get("ExpressionAttributeNames"), request.get("ExpressionAttributeValues")
    if not texts and names is None and wire_values is None:
        return _NONE
    plan = _plan(texts, tuple(names.items()) if names else ())
    if (names or {}).keys() != plan.names or (wire_values or {}).keys() != plan.values or {} in (names, wire_values):
        _check_given(request, plan, allowed)
    if not wire_values:
        return Expressions(plan, {})
    try:
        values = decode_item(wire_values)
    except Invalid as refusal:
        raise Invalid(f"ExpressionAttributeValues contains invalid value: {refusal.message}") from refusal
    if plan.operands or plan.betweens:
        plan.check(values)
    return Expressions(plan, values)
