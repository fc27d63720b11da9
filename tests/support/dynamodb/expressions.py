"""The expressions of DynamoDB's requests: their text is parsed once, and compiled to functions of an item.

The engine has the forms that the product uses, and refuses all others with NotImplementedError, wrong ones too:

- Conditions compare an attribute with a value (`v < :v`), or have `attribute_exists`, `attribute_not_exists` or, of
  sets, `contains`; AND, OR, NOT and parentheses join them. Only key conditions have BETWEEN and `begins_with`.
- SET has `:v`, `list_append(a, :v)`, `if_not_exists(a, :v)` or `a`, and the last two also with `+ :v`. REMOVE takes
  attributes and members of lists, ADD numbers and sets.

All are on top-level attributes, by their own names or by placeholders of names (`#a`).
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
"""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from tests.support.dynamodb.errors import INVALID_PATH, MISSING_OPERAND, WRONG_OPERAND, Invalid, InvalidForItem
from tests.support.dynamodb.items import MISSING, TOO_LARGE, Item, Value, decode_item, same

LONGEST: Final = 4096
MAX_OPERATORS: Final = 300
RESERVED: Final = frozenset(Path(__file__).with_name("reserved_words.txt").read_text(encoding="ascii").split())
END: Final = "<EOF>"
NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})
_TOKEN: Final = re.compile(r"#[A-Za-z0-9_]+|[A-Za-z][A-Za-z0-9_]*|:[A-Za-z0-9_]+|<=|>=|[0-9]+|\S")

Values = Mapping[str, Value]
Compute = Callable[[Mapping[str, Value], Values], Value]
"""Returns what SET stores, from the item as it was and the values of the request."""
Holds = Callable[[Mapping[str, Value], Values], bool]


class Reader:
    """The tokens of one expression, read from left to right. `values` are the placeholders in it.

    `names` are the attributes that placeholders stand for, and `named` those of the placeholders that it has.
    """

    counted: frozenset[str]
    """The operators and functions, of which an expression has 300 at most."""

    def __init__(self, text: str, names: Mapping[str, str] = NO_NAMES) -> None:
        self.values: set[str] = set()
        self.named: set[str] = set()
        self._names = names
        self._text = text
        self._at = 0
        self._tokens: list[str] = [*_TOKEN.findall(text), END]
        if len(text.encode()) > LONGEST or sum(token in self.counted for token in self._tokens) > MAX_OPERATORS:
            raise Invalid(f"The expression is above {LONGEST} bytes or has more than {MAX_OPERATORS} operators: {text}")

    def unexpected(self) -> NotImplementedError:
        return NotImplementedError(f"the engine does not have {self.next!r} where it stands in {self._text!r}")

    @property
    def next(self) -> str:
        return self._tokens[self._at]

    def accept(self, word: str) -> bool:
        """Take the next token if it is this word."""
        if self.next != word:
            return False
        self._at += 1
        return True

    def expect(self, word: str) -> None:
        if not self.accept(word):
            raise self.unexpected()

    def separated(self, part: Callable[[], Any]) -> None:
        part()
        while self.accept(","):
            part()

    def value(self) -> str:
        if self.next[0] != ":":
            raise self.unexpected()
        self._at += 1
        self.values.add(self._tokens[self._at - 1])
        return self._tokens[self._at - 1]

    def name(self) -> str:
        """Read the name of an attribute."""
        if self.next[0] == "#":
            placeholder = self.next
            if placeholder not in self._names:
                raise Invalid(f"An expression attribute name used in expression is not defined: {placeholder}")
            self._at += 1
            self.named.add(placeholder)
            return self._names[placeholder]
        if not self.next[0].isalpha():
            raise self.unexpected()
        if self.next.upper() in RESERVED:
            raise Invalid(f"Attribute name is a reserved keyword: {self.next} in {self._text}")
        self._at += 1
        return self._tokens[self._at - 1]


# Conditions ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Test:
    """A comparison or a function: ``operator`` applied to an attribute and to placeholders of values."""

    operator: str
    name: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Junction:
    """AND, OR or NOT applied to other conditions."""

    operator: str
    parts: "tuple[Node, ...]"


Node = Test | Junction

_ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FUNCTIONS: Final = {"attribute_exists": 0, "attribute_not_exists": 0, "begins_with": 1, "contains": 1}
"""The functions, and how many values they have beside the attribute."""
_COMPARABLE: Final = frozenset({int, str, bytes})


class Condition(Reader):
    """Reads a condition to a `node`."""

    counted = frozenset({*_ORDER, *_FUNCTIONS, "=", "BETWEEN", "AND", "OR", "NOT"})

    def __init__(self, text: str, names: Mapping[str, str] = NO_NAMES) -> None:
        super().__init__(text, names)
        if "((" in text.replace(" ", ""):
            raise NotImplementedError(f"the engine does not know whether parentheses are redundant: {text}")
        self.node = self._either()
        self.expect(END)

    def _either(self) -> Node:
        return self._junction("OR", lambda: self._junction("AND", self._negation))

    def _junction(self, word: str, part: Callable[[], Node]) -> Node:
        parts = [part()]
        while self.accept(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Junction(word, tuple(parts))

    def _negation(self) -> Node:
        if self.accept("("):
            node = self._either()
            self.expect(")")
            return node
        return Junction("NOT", (self._negation(),)) if self.accept("NOT") else self._test()

    def _test(self) -> Test:
        word = self.next
        if word in _FUNCTIONS:
            self.expect(word)
            self.expect("(")
            name, values = self.name(), []
            for _ in range(_FUNCTIONS[word]):
                self.expect(",")
                values.append(self.value())
            self.expect(")")
            return Test(word, name, tuple(values))
        name = self.name()
        if self.accept("BETWEEN"):
            low = self.value()
            self.expect("AND")
            return Test("BETWEEN", name, (low, self.value()))
        sign = self.next
        if sign != "=" and sign not in _ORDER:
            raise self.unexpected()
        self.expect(sign)
        return Test(sign, name, (self.value(),))


def _contains(whole: Value, part: Value) -> bool:
    if type(whole) in {str, bytes, tuple}:
        raise NotImplementedError("the engine has contains(…) for sets only")
    return type(whole) is frozenset and part in whole


def _compile_test(test: Test) -> Holds:
    sign, name = test.operator, test.name
    if sign == "attribute_exists":
        return lambda item, _: name in item
    if sign == "attribute_not_exists":
        return lambda item, _: name not in item
    value = test.values[0]
    if sign in _ORDER:
        compare = _ORDER[sign]

        def ordered(item: Mapping[str, Value], values: Values) -> bool:
            held, other = item.get(name, MISSING), values[value]
            if type(other) not in _COMPARABLE:
                raise Invalid(f"Incorrect operand type for operator or function: {sign} {other!r}")
            return type(held) is type(other) and compare(held, other)

        return ordered
    if sign not in {"=", "contains"}:
        raise NotImplementedError(f"the engine has {sign} in key conditions only")
    holds = same if sign == "=" else _contains
    return lambda item, values: holds(item.get(name, MISSING), values[value])


def _compile(node: Node) -> Holds:
    if isinstance(node, Test):
        return _compile_test(node)
    parts = [*map(_compile, node.parts)]
    if node.operator == "NOT":
        return lambda item, values: not parts[0](item, values)
    combine = all if node.operator == "AND" else any
    return lambda item, values: combine(part(item, values) for part in parts)


# Updates -------------------------------------------------------------------------------------------------------------


def _present(held: Value) -> Value:
    if held is MISSING:
        raise InvalidForItem(MISSING_OPERAND)
    return held


def _sum(left: Value, right: Value) -> Value:
    if type(left) is not int or type(right) is not int:
        raise InvalidForItem(WRONG_OPERAND)
    if abs(left + right) >= TOO_LARGE:
        raise NotImplementedError("the engine has whole numbers below 10^38 only")
    return left + right


def _added(held: Value, value: Value) -> Value:
    """Return what ADD stores: a sum, or the union of two sets."""
    if type(value) not in {int, frozenset}:
        raise Invalid(f"Incorrect operand type for operator or function: ADD {value!r}")
    if held is MISSING:
        return value
    return held | value if type(held) is frozenset and type(value) is frozenset else _sum(held, value)


def _joined(one: Value, two: Value) -> Value:
    if type(_present(one)) is not tuple or type(two) is not tuple:
        raise InvalidForItem(WRONG_OPERAND)
    return (*one, *two)


def _without(held: Value, places: set[int]) -> Value:
    """Return a list without the members at some places. Places behind its end are no error."""
    if type(held) is not tuple:
        raise InvalidForItem(INVALID_PATH)
    return tuple(member for place, member in enumerate(held) if place not in places)


class Update(Reader):
    """Reads an UpdateExpression: the entries of each section, in the order of the expression.

    ``assigned`` are the attributes that SET gives a value of the request as it is, ``cuts`` the places of the members
    that leave a list, and ``touched`` all attributes that the update names.
    """

    counted = frozenset({"+", "if_not_exists", "list_append"})

    def __init__(self, text: str, names: Mapping[str, str] = NO_NAMES) -> None:
        super().__init__(text, names)
        self.assigned: list[tuple[str, str]] = []
        self.sets: list[tuple[str, Compute]] = []
        self.adds: list[tuple[str, str]] = []
        self.removes: list[str] = []
        self.cuts: dict[str, set[int]] = {}
        self.touched: set[str] = set()
        sections = {"SET": self._set, "REMOVE": self._remove, "ADD": self._add}
        while self.next is not END or not self._at:
            section = sections.pop(self.next, None)  # each can be used once
            if section is None:
                raise self.unexpected()
            self._at += 1
            self.separated(section)

    def apply(self, old: Item, values: Values) -> Item:
        """Return the item after the update. Every operand is read from the old item."""
        new = dict(old)
        for name, placeholder in self.assigned:
            new[name] = values[placeholder]
        for name, compute in self.sets:
            new[name] = compute(old, values)
        for name, placeholder in self.adds:
            new[name] = _added(old.get(name, MISSING), values[placeholder])
        for name, places in self.cuts.items():
            new[name] = _without(old.get(name, MISSING), places)
        for name in self.removes:
            new.pop(name, None)
        return new

    def _target(self) -> str:
        name = self.name()
        if name in self.touched:
            raise Invalid(f"Two document paths overlap with each other: {name} in {self._text}")
        self.touched.add(name)
        return name

    def _set(self) -> None:
        name = self._target()
        self.expect("=")
        if self.next[0] == ":":
            self.assigned.append((name, self.value()))
        else:
            self.sets.append((name, self._computed()))

    def _computed(self) -> Compute:
        function = self.next if self.next in self.counted else None
        if function is None:
            held = self.name()
        else:
            self.expect(function)
            self.expect("(")
            held = self.name()
            self.expect(",")
            value = self.value()
            self.expect(")")
        if function == "list_append":
            return lambda old, values: _joined(old.get(held, MISSING), values[value])
        if not self.accept("+"):
            return lambda old, values: _present(old.get(held, values[value] if function else MISSING))
        more = self.value()
        return lambda old, values: _sum(_present(old.get(held, values[value] if function else MISSING)), values[more])

    def _remove(self) -> None:
        name = self.next
        if self._tokens[self._at + 1 :][:1] != ["["]:
            self.removes.append(self._target())
            return
        cuts = self.cuts.get(name)
        if cuts is None:
            cuts = self.cuts[self._target()] = set()
        else:
            self.expect(name)
        self.expect("[")
        place = self.next
        if not place.isdigit() or int(place) in cuts:
            raise Invalid(f"no place, or two document paths overlap with each other: {name} in {self._text}")
        self.expect(place)
        self.expect("]")
        cuts.add(int(place))

    def _add(self) -> None:
        self.adds.append((self._target(), self.value()))


# The expressions of one request --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expressions:
    """The parsed expressions of a request, the placeholders in them, and what these stand for."""

    update: Update | None
    condition: Holds | None
    keys: Node | None
    placeholders: frozenset[str]
    named: frozenset[str]
    values: Values = field(default_factory=dict)


@lru_cache(maxsize=1 << 14)
def _parsed(
    update: str | None, condition: str | None, keys: str | None, names: tuple[tuple[str, str], ...] = ()
) -> Expressions:
    known = dict(names)
    updates = None if update is None else Update(update, known)
    first, second = (None if text is None else Condition(text, known) for text in (condition, keys))
    readers = [reader for reader in (updates, first, second) if reader is not None]
    return Expressions(
        updates,
        None if first is None else _compile(first.node),
        None if second is None else second.node,
        frozenset(value for reader in readers for value in reader.values),
        frozenset(name for reader in readers for name in reader.named),
    )


_NAMES: Final = ("UpdateExpression", "ConditionExpression", "KeyConditionExpression")


def read_expressions(request: Mapping[str, Any], *allowed: str) -> Expressions:
    """Parse and check the expressions of a request. ``allowed`` names the parameters that may hold one."""
    if not (found := _found(tuple(request))) <= {*allowed}:
        raise NotImplementedError(f"the engine does not have {sorted(found)} here")
    wire_values, names = request.get("ExpressionAttributeValues"), request.get("ExpressionAttributeNames")
    parsed = _parsed(*(request.get(name) for name in _NAMES), tuple((names or {}).items()))
    if (names or {}).keys() != parsed.named or names == {}:
        raise Invalid("ExpressionAttributeNames must be those that the expressions use")
    if (wire_values or {}).keys() != parsed.placeholders or wire_values == {}:
        raise Invalid("ExpressionAttributeValues must be those that the expressions use")
    if not wire_values:
        return parsed
    values = decode_item(wire_values)
    return Expressions(parsed.update, parsed.condition, parsed.keys, parsed.placeholders, parsed.named, values)


@cache
def _found(parameters: tuple[str, ...]) -> frozenset[str]:
    """The parameters that hold expressions."""
    found = (name for name in parameters if "Expression" in name and not name.startswith("ExpressionAttribute"))
    return frozenset(found)
