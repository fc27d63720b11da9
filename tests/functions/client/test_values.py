"""Every call of the client, with a value of every type in each of its parameters: the calls are those that there are.

A value that a parameter does not take is refused with BadArgument, which names the parameter. Any other is answered, or
refused by a rule. Both clients say the same.
"""

import enum
import inspect
import itertools
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, SimpleNamespace, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from standings.client import ApiError, BadArgument, Batch, Board, Standings, connect
from tests.functions.client.conftest import Clients, Connect
from tests.support.aws.stack import Stack, apply, event

# Neither has types for strict checks.
numpy, pandas = (import_module(name) for name in ("numpy", "pandas"))
BOARDS: Final = """
[boards."*"]
metrics.points = { aggregate = "sum", precision = 2, windows = ["all", "day"] }
"""
SURROGATE: Final = re.compile("[\ud800-\udfff]")
AT: Final = datetime(2026, 11, 20, 10, 15, 0, 123456, UTC)


class Word(enum.Enum):
    A = "a"


class TextWord(str, enum.Enum):  # noqa: UP042 - the older kind, whose text is not its value
    A = "a"


class Three(enum.IntEnum):
    THREE = 3


def always(value: Any) -> Callable[[], Any]:
    return lambda: value


@cache
def levels() -> Any:
    value: Any = {}
    for _ in range(10_000):
        value = {"a": value}
    return value


VALUES: Final[Mapping[str, Callable[[], Any]]] = {
    **{repr(one): always(one) for one in (None, True, False, 0, 1, -1, 10**20, 1.5, -0.0, 1e300, 5e-324)},
    **{repr(one): always(one) for one in (float("nan"), float("inf"), 1j, Fraction(1, 3), Three.THREE, Word.A)},
    **{
        f"Decimal({text})": always(Decimal(text))
        for text in ("1.5", "-0", "NaN", "sNaN", "-Infinity", "1E+999999999", "1E-999999999", "0." + "1" * 60)
    },
    **{
        ascii(text): always(text)
        for text in ("", "a", "a\0b", "\ud800", "x\udfff", "🎈", "a\nb", "..", "a/b", "%ff", TextWord.A, "2026-11-20")
    },
    "10^400": lambda: 10**400,
    "10^5000": lambda: -(10**5000),
    "long": lambda: "x" * 100_000,
    "UUID": lambda: uuid.UUID(int=7),
    "bytes": lambda: b"a",
    "bytearray": lambda: bytearray(b"a"),
    "list": list,
    "texts": lambda: ["a"],
    "texts, one wrong": lambda: ("a", "\ud800"),
    "mixed": lambda: [None, 1, object()],
    "set": lambda: {1},
    "mapping": dict,
    "proxy": lambda: MappingProxyType({"points": 1}),
    "wrong names": lambda: {5: 1, "\ud800": 2},
    "wrong amounts": lambda: {"points": 10**400, "a": float("nan")},
    "updates": lambda: [{"board": "b", "member": "m", "metrics": {"points": "\ud800"}}],
    "levels": levels,
    "generator": lambda: (one for one in "ab"),
    "endless": itertools.count,
    "object": object,
    "class": lambda: str,
    "path": lambda: Path("a"),
    "naive": lambda: AT.replace(tzinfo=None),
    "aware": lambda: AT,
    "seconds": lambda: AT.astimezone(timezone(timedelta(seconds=3723))),
    "too early": lambda: datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
    "too late": lambda: datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
    "date": lambda: date(2026, 11, 20),
    "time": AT.time,
    "timedelta": lambda: timedelta(1),
    **{
        f"numpy {one!r}": always(one)
        for one in (
            *(numpy.float64(1.5), numpy.float32(0.1), numpy.float16(2), numpy.longdouble("0.1"), numpy.float64("nan")),
            *(numpy.float32("-inf"), numpy.complex128(1), numpy.int64(3), numpy.uint8(1), numpy.bool_(True)),
            *(numpy.str_("a"), numpy.bytes_(b"a"), numpy.datetime64("2026-11-20"), numpy.timedelta64(1, "D")),
            *(numpy.array(3), numpy.array([1.5, 2]), numpy.array(["a"])),
        )
    },
    "Timestamp": lambda: pandas.Timestamp("2026-11-20T10:15:00.123456789Z"),
    "naive Timestamp": lambda: pandas.Timestamp("2026-11-20"),
    "NaT": lambda: pandas.NaT,
    "NA": lambda: pandas.NA,
    "Series": lambda: pandas.Series(["a", "b"]),
    "DataFrame": lambda: pandas.DataFrame({"a": [1]}),
    "Period": lambda: pandas.Period("2026-11"),
}
SAME: Final[list[tuple[Any, Any]]] = [
    *((Three.THREE, 3), (TextWord.A, "a"), (numpy.float64(1.5), 1.5), (numpy.float32(0.1), 0.1)),
    *((numpy.float16(2), 2.0), (numpy.longdouble("0.1"), 0.1), (numpy.int64(3), 3), (numpy.bool_(True), True)),
    *((numpy.str_("a"), "a"), (pandas.Timestamp("2026-11-20T11:15:00.123456789+01:00"), AT)),
]
"""Values that count as others."""


def is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | Mapping)


TAKES: Final[Mapping[Any, Callable[[Any], bool]]] = {
    Any: lambda _: True,
    type(None): lambda value: value is None,
    str: lambda value: isinstance(value, uuid.UUID) or (isinstance(value, str) and not SURROGATE.search(value)),
    bool: lambda value: isinstance(value, bool | numpy.bool_),
    int: lambda value: isinstance(value, int | numpy.integer) and not isinstance(value, bool | numpy.timedelta64),
    float: lambda value: isinstance(value, float | numpy.floating) and bool(numpy.isfinite(value)),
    Decimal: lambda value: isinstance(value, Decimal) and value.is_finite(),
    date: lambda value: isinstance(value, date) and not isinstance(value, datetime),
    datetime: lambda value: isinstance(value, datetime) and value is not pandas.NaT and value.utcoffset() is not None,
    Sequence: is_list,
    Iterable: is_list,
}
"""Whether a type that a parameter names means a value."""


def takes(kind: Any, value: Any) -> bool:
    """Whether an annotation means values like this one."""
    origin = get_origin(kind) or kind
    if origin in (Union, UnionType):
        return any(takes(one, value) for one in get_args(kind))
    if origin is Literal:
        return isinstance(value, str) and value in get_args(kind)
    return TAKES[origin](value) if origin in TAKES else isinstance(value, origin)


@cache
def parameters(call: Callable[..., Any]) -> dict[str, tuple[Any, bool]]:
    """The parameters of a call, also those of `**ranking`: the type of each, and whether it can be left out."""
    found = {}
    for name, one in inspect.signature(call).parameters.items():
        fields = get_args(one.annotation)
        if one.kind is not one.VAR_KEYWORD:
            found[name] = one.annotation, one.default is not one.empty
        elif fields and is_typeddict(fields[0]):
            found |= {field: (kind, True) for field, kind in get_type_hints(fields[0]).items()}
        else:
            found["points"] = one.annotation, False
    found.pop("self", None)
    return found


PUBLIC: Final = {
    f"{kind.__name__}.{name}": call
    for kind in (Standings, Board, Batch)
    for name, call in inspect.getmembers(kind, inspect.isfunction)
    if not name.startswith("_") and len(inspect.signature(call).parameters) > 1
}
REQUIRED: Final[dict[str, Any]] = {
    "member": "a",
    "members": ["a"],
    "score": 1,
    "p": 90,
    "name": "bo",
    "event_id": "a",
    "points": 1,
    "event": {"board": "b", "member": "a", "metrics": {"points": 1}},
}


def calls(client: Standings, name: str, given: Mapping[str, Any]) -> Any:
    """Call what is public by its name, and read from what it makes."""
    kind, _, call = name.partition(".")
    if kind == "Batch":
        with client.batch() as batch:
            return getattr(batch, call)(**given)
    found = getattr(client if kind == "Standings" else client.board("b"), call)(**given)
    if isinstance(found, Batch):
        return found.flush()
    if isinstance(found, Iterator):
        return [*found]
    return found.definition() if isinstance(found, Board) else found


def outcome(client: Standings, name: str, parameter: str, value: Any) -> Any:
    """The answer, or the error's type and text."""
    optional = {one for one, (_, may_lack) in parameters(PUBLIC[name]).items() if may_lack}
    given = {one: REQUIRED[one] for one in parameters(PUBLIC[name]).keys() - optional}
    if name.endswith((".post", ".correct")):
        given |= {} if parameter == "updates" else {"board": "b", "member": "a"}
        given = {"event_id": "a"} if parameter == "updates" and name.endswith("correct") else given
        given = {} if parameter == "updates" and name.endswith("post") else given
        given.pop("points" if parameter == "metrics" else "", None)
    given |= {"country": "DE"} if name == "Standings.put_profile" else {}
    try:
        if name == "Board.remove":
            client.board("b").register("a")
        return calls(client, name, {**given, parameter: value})
    except ApiError as error:
        return type(error), error.detail if 400 <= error.status < 500 else error


def is_refusal(found: Any, parameter: str) -> bool:
    """Whether it is a refusal that names the parameter: of an amount `metrics.points`, of a list `members[0]`."""
    name = {"points": r"metrics\.points", "event": r"[a-z_0-9.\[\]]+"}.get(parameter, parameter)
    is_error = isinstance(found, tuple) and found[0] is BadArgument
    return is_error and re.match(rf"{name}(\[|\.|:)", found[1]) is not None


@pytest.fixture(autouse=True)
def _played(stack: Stack) -> None:
    apply(stack, [event("a", 3)])


@pytest.mark.parametrize("name", PUBLIC)
def test_a_value_of_another_type_is_refused_by_the_name_of_its_parameter(clients: Clients, name: str) -> None:
    for parameter, (kind, may_lack) in parameters(PUBLIC[name]).items():
        for shown, make in VALUES.items():
            found = [outcome(client, name, parameter, make()) for client in clients[:2]]
            where = f"{name}({parameter}={shown}): {found}"
            value = make()
            assert found[0] == found[1], where
            is_bad = not takes(kind, value) and not (value is None and may_lack)
            if is_bad or (value is not None and isinstance(found[0], tuple) and found[0][0] is BadArgument):
                assert is_refusal(found[0], parameter), where
                assert len(found[0][1]) < 400, where


@pytest.mark.parametrize("name", PUBLIC)
def test_a_scalar_of_numpy_or_pandas_is_what_it_prints(connected: Connect, name: str) -> None:
    for parameter, (kind, _) in parameters(PUBLIC[name]).items():
        for one, other in SAME:
            if takes(kind, other):
                found = [outcome(connected(), name, parameter, value) for value in (one, other)]
                assert found[0] == found[1], (parameter, one)


@pytest.mark.parametrize("parameter", parameters(connect))
def test_what_connect_cannot_use_is_refused_by_its_name(parameter: str) -> None:
    kind, _ = parameters(connect)[parameter]
    queue = SimpleNamespace(send_message_batch=lambda **_: {})
    given = {"queue_url": "q", "session": SimpleNamespace(create_client=lambda *_, **__: queue)}
    for shown, make in VALUES.items():
        found: Any = None
        try:
            client = connect(**{**given, parameter: make()})
            if parameter == "boards":
                client.post("b", "a", points=1)
        except BadArgument as error:
            found = type(error), error.detail
        is_fine = found is None and (takes(kind, make()) or make() is None)
        assert is_fine or is_refusal(found, parameter), (shown, found)
