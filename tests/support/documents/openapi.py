"""Reads the OpenAPI description, lists its operations, and checks values against its schemas."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import jsonschema_rs
import orjson

DESCRIPTION: Final[dict[str, Any]] = orjson.loads(
    (Path(__file__).parents[3] / "functions" / "query" / "openapi.json").read_bytes()
)


class Operation(NamedTuple):
    """An operation of the description. `arguments` are its query parameters by name."""

    method: str
    path: str
    definition: dict[str, Any]
    arguments: dict[str, dict[str, Any]]


def resolved(node: dict[str, Any]) -> dict[str, Any]:
    """Return a node, or the node that its `$ref` names."""
    if "$ref" not in node:
        return node
    target: Any = DESCRIPTION
    for part in node["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    return cast("dict[str, Any]", target)


def described() -> Iterator[Operation]:
    """Yield every operation."""
    for path, item in DESCRIPTION["paths"].items():
        for method in item.keys() & {"get", "put", "post", "delete"}:
            parameters = [resolved(one) for one in item.get("parameters", []) + item[method].get("parameters", [])]
            arguments = {one["name"]: one for one in parameters if one["in"] == "query"}
            yield Operation(method.upper(), path, item[method], arguments)


def assert_valid(node: dict[str, Any], value: Any, what: str) -> None:
    """Assert that a value fits the schema of a node. `what` is the message if it does not."""
    errors = jsonschema_rs.Draft202012Validator(
        {**node, "components": DESCRIPTION["components"]}, validate_formats=True
    ).iter_errors(value)
    assert [f"{error.instance_path}: {error.message}" for error in errors] == [], what


OPERATIONS: Final = {operation.definition["operationId"]: operation for operation in described()}
