"""Makes Python's types of the answers, for the client, from the same schemas as the description."""

import json
from collections.abc import Iterator, Mapping
from keyword import iskeyword
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from api.calls import OPERATIONS
from api.schemas import HEAD, SCHEMAS, Schema, record, schema_of
from standings.calls import CALLS

FILE: Final = Path(__file__).parents[1] / "layers" / "standings" / "standings" / "client" / "answer_types.py"
_HEAD: Final = '''"""The answers of the API. `make openapi` writes this file."""

from typing import Any, Literal, NotRequired, TypedDict


'''
_PLAIN: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_WIDTH: Final = 120
_LEAST: Final = 3
_BASE: Final = "RankingAnswer"
_SAYS: Final = "What every answer about a ranking has."


def text_of_types() -> str:
    """The text of `answer_types.py`: the answers of the client's calls, and the types in them."""
    head = record(_SAYS, HEAD)
    used: dict[str, Schema] = {}
    _use(head, used)
    used[_BASE] = head
    for name in CALLS:
        answer = OPERATIONS[name].schema
        if (
            answer is not None
            and name != "getDescription"
            and name.startswith(("get", "list", "rank", "put", "delete"))
        ):
            _use(schema_of(answer), used)
        for _, schema, _ in OPERATIONS[name].also.values():
            _use(schema_of(schema), used)
    fields = {name: dict(_fields(schema)) for name, schema in used.items()}
    return _HEAD + "\n\n".join(_record(name, used[name], fields) for name in _bases_first(fields))


def _bases_first(fields_of: Mapping[str, Mapping[str, str]]) -> dict[str, None]:
    """The names of records, each after its bases."""
    ordered: dict[str, None] = {}
    for name in fields_of:
        ordered |= dict.fromkeys([*(base for base in _bases(name, fields_of)[0] if base in fields_of), name])
    return ordered


def _use(schema: Schema, used: dict[str, Schema]) -> None:
    """Add the objects that a schema consists of, each after its own parts."""
    name = _name(schema)
    if name is not None and name not in used:
        _use(SCHEMAS[name], used)
        if "properties" in SCHEMAS[name]:
            used[name] = SCHEMAS[name]
    for part in (*schema.get("properties", {}).values(), *schema.get("oneOf", ()), schema.get("items")):
        if part is not None:
            _use(part, used)


def _record(name: str, schema: Schema, fields_of: Mapping[str, Mapping[str, str]]) -> str:
    fields = fields_of[name]
    says = schema["description"]
    if any(map(iskeyword, fields)):
        pairs = [f'"{field}": {kind}' for field, kind in fields.items()]
        called = f'{name} = TypedDict("{name}", {{{", ".join(pairs)}}})'
        if len(called) > _WIDTH:
            listed = "".join(f"        {pair},\n" for pair in pairs)
            called = f'{name} = TypedDict(\n    "{name}",\n    {{\n{listed}    }},\n)'
        return f'{called}\n"""{says}"""\n'
    bases, inherited = _bases(name, fields_of)
    lines = "".join(f"    {field}: {kind}\n" for field, kind in fields.items() if field not in inherited)
    return f"class {name}({', '.join(bases)}):\n{_docstring(says)}\n{lines}"


def _bases(name: str, fields_of: Mapping[str, Mapping[str, str]]) -> tuple[list[str], set[str]]:
    """The records whose fields this one has too, the largest first, and all fields that come with them.

    A record of fewer fields than `_LEAST` says too little to be a base.
    """
    bases, inherited = list[str](), set[str]()
    mine = fields_of[name].items()
    others = [other for other in fields_of if len(fields_of[other]) >= _LEAST]
    for other in sorted(others, key=lambda each: -len(fields_of[each])):
        if fields_of[other].items() < mine and inherited.isdisjoint(fields_of[other]):
            bases.append(other)
            inherited |= fields_of[other].keys()
    return bases or ["TypedDict"], inherited


def _docstring(says: str) -> str:
    """A text as a docstring: in one line, or its first sentence, and below it the rest."""
    first, _, rest = says.partition(". ")
    if len(says) <= _WIDTH - 10 or not rest:
        return f'    """{says}"""\n'
    below = fill(rest, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
    return f'    """{first}.\n\n{below}\n    """\n'


def _fields(schema: Schema) -> Iterator[tuple[str, str]]:
    for field, of in schema["properties"].items():
        kind = _type(of)
        yield field, kind if field in schema.get("required", ()) else f"NotRequired[{kind}]"


def _type(schema: Schema) -> str:
    """The type of a value, such as `list[Entry]` or `int | None`."""
    name = _name(schema)
    if name is not None:
        return name if "properties" in SCHEMAS[name] else _type(SCHEMAS[name])
    if "oneOf" in schema:
        return " | ".join(map(_type, schema["oneOf"]))
    if "enum" in schema:
        return f"Literal[{', '.join(map(json.dumps, schema['enum']))}]"
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " | ".join(_plain(kind, schema) for kind in kinds)


def _plain(kind: str, schema: Schema) -> str:
    if kind == "array":
        return f"list[{_type(schema['items'])}]"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"dict[str, {_type(values) if isinstance(values, dict) else 'Any'}]"
    return _PLAIN[kind]


def _name(schema: Any) -> str | None:
    reference = schema.get("$ref")
    return None if reference is None else str(reference).rpartition("/")[2]
