"""Creates the tables of ``template.yaml`` on any DynamoDB client."""

from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml  # type: ignore[import-untyped]  # no type stubs

from tests.support.dynamodb.engine import Engine

TEMPLATE: Final = Path(__file__).parents[3] / "template.yaml"
_COPIED: Final = ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes")
_OPTIONAL: Final = frozenset({"WarmThroughput", "ProvisionedThroughput"})
"""Left out: parameters of the template set them, and by default there are none."""


class _TemplateLoader(yaml.CSafeLoader):  # type: ignore[misc]  # no type stubs
    """Reads the short form of CloudFormation's intrinsic functions as plain data."""


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
    """Return the whole template. ``!Ref X`` becomes ``{"Ref": "X"}``; other functions likewise."""
    with TEMPLATE.open(encoding="utf-8") as file:
        loaded: dict[str, Any] = yaml.load(file, Loader=_TemplateLoader)  # noqa: S506 - a SafeLoader
    return loaded


@cache
def definitions() -> dict[str, dict[str, Any]]:
    """Return the arguments of CreateTable for every table, by logical id."""
    tables = {}
    for logical_id, resource in template()["Resources"].items():
        if resource["Type"] != "AWS::DynamoDB::Table":
            continue
        properties = resource["Properties"]
        arguments = {name: _without(_OPTIONAL, properties[name]) for name in _COPIED if name in properties}
        arguments["BillingMode"] = "PAY_PER_REQUEST"  # as by default
        if "StreamSpecification" in properties:
            # CloudFormation enables a stream by naming its view.
            arguments["StreamSpecification"] = {"StreamEnabled": True, **properties["StreamSpecification"]}
        tables[logical_id] = arguments
    return tables


def _without(unwanted: frozenset[str], value: Any) -> Any:
    """Return a value without these attributes, which are left out of its mappings at any depth."""
    if isinstance(value, dict):
        return {name: _without(unwanted, inner) for name, inner in value.items() if name not in unwanted}
    return [_without(unwanted, inner) for inner in value] if isinstance(value, list) else value


def create_tables(client: Any, *, expire: bool = True) -> dict[str, str]:
    """Create every table of the template, ``Scores`` for ``ScoresTable``. Return their names by logical id.

    ``expire`` turns TTL on. DynamoDB Local then deletes expired items within seconds by the real clock, not by
    the clock of the test.
    """
    names = {}
    resources = template()["Resources"]
    for logical_id, arguments in definitions().items():
        name = names[logical_id] = logical_id.removesuffix("Table")
        client.create_table(TableName=name, **arguments)
        expiry = resources[logical_id]["Properties"].get("TimeToLiveSpecification")
        if expiry and expire:
            client.update_time_to_live(TableName=name, TimeToLiveSpecification=expiry)
    return names


def engine_with_tables(*, shards: int = 1, expire: bool = True) -> Any:
    """Return an engine with every table of the template. ``shards`` are those of the stream."""
    engine = Engine(shards=shards)
    create_tables(engine, expire=expire)
    return engine


def delete_tables(client: Any) -> None:
    for name in client.list_tables()["TableNames"]:
        client.delete_table(TableName=name)
