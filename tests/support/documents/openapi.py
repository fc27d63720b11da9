"""The OpenAPI description of the API, its operations, and checks of values against its schemas."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import jsonschema_rs
import orjson

DESCRIPTION: Final[dict[str, Any]] = orjson.loads(
    (Path(__file__).parents[3] / "functions" / "query" / "openapi.json").read_bytes()
)


class Operation(NamedTuple):
    """An operation of the description."""

    method: str
    path: str
    definition: dict[str, Any]
    arguments: dict[str, dict[str, Any]]


def resolved(node: dict[str, Any]) -> dict[str, Any]:
    """A node, or the node that its `$ref` refers to."""
    if "$ref" not in node:
        return node
    found: Any = DESCRIPTION
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return cast("dict[str, Any]", found)


def described() -> Iterator[Operation]:
    """All operations."""
    for path, item in DESCRIPTION["paths"].items():
        for method in item.keys() & {"get", "put", "post", "delete"}:
            parameters = [resolved(one) for one in item.get("parameters", []) + item[method].get("parameters", [])]
            arguments = {one["name"]: one for one in parameters if one["in"] == "query"}
            yield Operation(method.upper(), path, item[method], arguments)


def assert_valid(node: dict[str, Any], value: Any, what: str) -> None:
    """Assert that a value fits the schema of a node; `what` is shown if it does not."""
    errors = jsonschema_rs.Draft202012Validator(
        {**node, "components": DESCRIPTION["components"]}, validate_formats=True
    ).iter_errors(value)
    assert [f"{error.instance_path}: {error.message}" for error in errors] == [], what


OPERATIONS: Final = {operation.definition["operationId"]: operation for operation in described()}
