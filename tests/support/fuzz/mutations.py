"""Makes nearly valid JSON: valid values with random changes."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any, Final

HUGE: Final = "9" * 400
_WORDS: Final = {
    "short": ("", " ", "0", "-1", "1_0", "#", "/", "..", "b#1", "#boards"),
    "numbers": ("NaN", "Infinity", "1e400", HUGE, "9" * 5000, "\N{FULLWIDTH DIGIT ONE}"),
    "characters": ("\ud800", "\x00", "\ufffe", "用户", "\N{PILE OF POO}" * 90, "x" * 3000),
    "instants": ("2026-11-21T10:15:00Z", "2026-11-21T10:15:60Z", "0000-00-00T00:00:00Z", "2026-11-21T10:15:00+99:99"),
}
_VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "constants": (None, True, False),
    "numbers": (0, -0.0, 1.5, 1e-300, 1e300, 2**53, 2**63, 10**30, float("nan"), float("inf")),
    "nothing in them": ([], {}, [[]], [None], {"": None}),
    "as DynamoDB has them": ({"S": "b"}, {"N": "1"}, {"M": {}}, {"L": [{"N": "1"}]}, {"B": "AAAA"}, {"NS": ["1"]}),
    "nearly": ({"N": 1}, {"N": "NaN"}, {"N": HUGE}, {"N": "-9007199254740993"}, {"S": 1}, {"BOOL": "yes"}),
}
WORDS: Final = [word for words in _WORDS.values() for word in words]
VALUES: Final = [value for values in _VALUES.values() for value in values]


def value(rng: random.Random, depth: int = 3) -> Any:
    """Return a random JSON value."""
    kind = rng.random()
    if depth and kind < 0.2:
        return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if depth and kind < 0.5:
        return {text(rng): value(rng, depth - 1) for _ in range(rng.randrange(4))}
    if kind < 0.7:
        return text(rng)
    if kind < 0.8:
        return rng.randrange(-(10 ** rng.randrange(1, 25)), 10 ** rng.randrange(1, 25))
    return copy.deepcopy(rng.choice(VALUES))


def text(rng: random.Random) -> str:
    """Return random text, often one that some parser treats specially."""
    if rng.random() < 0.6:
        return rng.choice(WORDS)
    return "".join(chr(rng.choice([rng.randrange(128), rng.randrange(0x3000)])) for _ in range(rng.randrange(12)))


def mutated(rng: random.Random, whole: Any, times: int = 1) -> Any:
    """Return a copy of a JSON value with `times` parts removed, replaced, renamed, doubled, wrapped or added."""
    changed = copy.deepcopy(whole)
    for _ in range(times):
        changed = _mutate(rng, changed)
    return changed


def _mutate(rng: random.Random, whole: Any) -> Any:
    places = list(_places(whole))
    if not places:
        return value(rng)
    holder, key = rng.choice(places)
    kind = rng.random()
    if kind < 0.25:
        del holder[key]
    elif kind < 0.6:
        holder[key] = value(rng)
    elif kind < 0.75:
        holder[key] = {text(rng): holder[key]} if rng.random() < 0.5 else [holder[key], holder[key]]
    elif kind < 0.85 and isinstance(holder, dict):
        holder[text(rng)] = holder.pop(key)
    elif kind < 0.95 and isinstance(holder, dict):
        holder[text(rng)] = value(rng)
    else:
        other, name = rng.choice(places)
        holder[key] = copy.deepcopy(other[name]) if isinstance(other, list) or name in other else value(rng)
    return whole


def _places(whole: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every part of a value as the dict or list that holds it, and its key or index there."""
    if isinstance(whole, dict | list):
        for key, part in whole.items() if isinstance(whole, dict) else enumerate(whole):
            yield whole, key
            yield from _places(part)


def body(rng: random.Random, event: dict[str, Any]) -> str:
    """Return a message body: noise, random JSON, or nearly the event."""
    kind = rng.random()
    if kind < 0.2:
        noise = rng.randbytes(rng.randrange(60))
        return noise.decode(rng.choice(["latin-1", "utf-8", "ascii"]), rng.choice(["replace", "surrogateescape"]))
    if kind < 0.4:
        return json.dumps(value(rng, 5), ensure_ascii=rng.random() < 0.5)
    if kind < 0.8:
        return json.dumps(mutated(rng, event, rng.choice([1, 1, 1, 2, 3])), ensure_ascii=rng.random() < 0.5)
    return _miswritten(rng, event)


def _miswritten(rng: random.Random, event: dict[str, Any]) -> str:
    """Return the JSON text of an event with wrong, missing or extra characters."""
    written = json.dumps(event)
    at = rng.randrange(len(written))
    twice = f'{{"{rng.choice(list(event))}":{json.dumps(value(rng))},{written[1:]}'  # a duplicate key
    nested = "[" * rng.choice([10, 500, 100_000]) + written
    other = written[:at] + chr(rng.randrange(256)) + written[at + rng.randrange(2) :]
    long = written.replace("1", "1" * rng.choice([17, 400, 5000]), 1)
    around = " " * rng.randrange(3) + written + rng.choice(["", " ", "\n", "x", written])
    return rng.choice([other, written[:at], twice, nested, long, around])
