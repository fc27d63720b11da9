"""The OpenAPI description is valid, and so are its examples."""

import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import orjson
import schemathesis

from tests.support.documents.openapi import DESCRIPTION, OPERATIONS, assert_valid, described, resolved


def test_it_is_a_valid_description() -> None:
    schemathesis.openapi.from_dict(DESCRIPTION).validate()
    text = orjson.dumps(DESCRIPTION).decode()
    used = set(re.findall(r'"#/components/([a-z]+/[A-Za-z]+)"', text, re.IGNORECASE))
    defined = {
        f"{kind}/{name}"
        for kind, parts in DESCRIPTION["components"].items()
        if kind != "securitySchemes"
        for name in parts
    }

    assert used == defined
    assert len(OPERATIONS) == len(list(described()))


def test_every_schema_is_one_and_every_example_is_of_its_schema() -> None:
    for name, schema in DESCRIPTION["components"]["schemas"].items():
        jsonschema_rs.meta.validate(schema)
        assert schema["description"], name
    count = 0
    for where, media in media_types(DESCRIPTION):
        for example in (
            [media["example"]] if "example" in media else [e["value"] for e in media.get("examples", {}).values()]
        ):
            assert_valid(media["schema"], example, where)
            count += 1
    for operation in OPERATIONS.values():
        for argument in operation.arguments.values():
            if "example" in argument:
                assert_valid(argument["schema"], argument["example"], argument["name"])
    assert count > 20


def test_no_argument_has_a_default_that_a_generated_client_would_send() -> None:
    """A client sends a default with each call, and the API refuses `radius` without `around`."""
    for name, operation in OPERATIONS.items():
        for argument in operation.arguments.values():
            assert "default" not in resolved(argument["schema"]), (name, argument["name"])


def test_an_object_of_any_content_says_so() -> None:
    """Else openapi-typescript takes it for one without content, and nobody can give a note."""
    silent = [where for where, one in objects(DESCRIPTION) if not one.keys() & {"properties", "additionalProperties"}]
    assert silent == []


def objects(node: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        if node.get("type") == "object":
            yield where, node
        for name, value in node.items():
            yield from objects(value, f"{where}/{name}")


def media_types(node: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        for name, value in node.items():
            if name == "content":
                yield from ((where, media) for media in value.values())
            yield from media_types(value, f"{where}/{name}")
