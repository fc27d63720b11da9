"""The project's tables as ``template.yaml`` defines them, made on any client."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml  # type: ignore[import-untyped]  # its types are not installed

TEMPLATE: Final = Path(__file__).parents[3] / "template.yaml"
_COPIED: Final = ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "BillingMode")
_SUFFIX: Final = "Table"
_WARMTH: Final = "WarmThroughput"
"""A parameter decides on it: as shipped there is none."""


class _TemplateLoader(yaml.SafeLoader):  # type: ignore[misc]  # for the same reason
    """Reads CloudFormation's short intrinsic functions as plain data."""


def _intrinsic(loader: _TemplateLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        return {suffix: loader.construct_scalar(node)}
    if isinstance(node, yaml.SequenceNode):
        return {suffix: loader.construct_sequence(node, deep=True)}
    if isinstance(node, yaml.MappingNode):
        return {suffix: loader.construct_mapping(node, deep=True)}
    raise TypeError(node)


_TemplateLoader.add_multi_constructor("!", _intrinsic)


@cache
def template() -> dict[str, Any]:
    """Return the whole template, ``!Ref X`` and its like as ``{"Ref": "X"}``."""
    with TEMPLATE.open(encoding="utf-8") as file:
        loaded: dict[str, Any] = yaml.load(file, Loader=_TemplateLoader)  # noqa: S506 - a SafeLoader
    return loaded


def table_name(logical_id: str) -> str:
    """Return the name a table has in tests: ``Scores`` for ``ScoresTable``."""
    return logical_id.removesuffix(_SUFFIX)


def definitions() -> dict[str, dict[str, Any]]:
    """Return the arguments of CreateTable for every table, by its logical id."""
    found = {}
    for logical_id, resource in template()["Resources"].items():
        if resource["Type"] != "AWS::DynamoDB::Table":
            continue
        properties = resource["Properties"]
        arguments = {name: _without(_WARMTH, properties[name]) for name in _COPIED if name in properties}
        if "StreamSpecification" in properties:
            # CloudFormation enables a stream by naming its view.
            arguments["StreamSpecification"] = {"StreamEnabled": True, **properties["StreamSpecification"]}
        found[logical_id] = arguments
    return found


def _without(unwanted: str, value: Any) -> Any:
    """A value in whose mappings, at any depth, an attribute is left out."""
    if isinstance(value, dict):
        return {name: _without(unwanted, inner) for name, inner in value.items() if name != unwanted}
    return [_without(unwanted, inner) for inner in value] if isinstance(value, list) else value


def create_tables(client: Any, prefix: str = "", *, expire: bool = True) -> dict[str, str]:
    """Make every table of the template and return their names by logical id.

    Without ``expire`` nothing is deleted by TTL: DynamoDB Local does that within seconds, by the real
    clock, whatever clock a test has.
    """
    names = {}
    resources = template()["Resources"]
    for logical_id, arguments in definitions().items():
        name = names[logical_id] = prefix + table_name(logical_id)
        client.create_table(TableName=name, **arguments)
        expiry = resources[logical_id]["Properties"].get("TimeToLiveSpecification")
        if expiry and expire:
            client.update_time_to_live(TableName=name, TimeToLiveSpecification=expiry)
    return names


def delete_tables(client: Any) -> None:
    """Delete every table there is."""
    for name in client.list_tables()["TableNames"]:
        client.delete_table(TableName=name)
