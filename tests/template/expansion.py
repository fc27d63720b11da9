"""Expands template.yaml offline: SAM's resources become CloudFormation's, parameters and conditions get values."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import boto3
from samtranslator.parser.parser import Parser  # type: ignore[import-untyped]
from samtranslator.translator.translator import Translator  # type: ignore[import-untyped]
from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-untyped]

from package.unbuilt import addressed

TEMPLATE: Final = Path(__file__).parents[2] / "template.yaml"
REGION: Final = "us-east-1"
KEY: Final = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"
TOKENS: Final = {"JwtIssuer": "https://issuer.example", "JwtAudience": "standings,other"}
_PSEUDO: Final = {
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::StackName": "standings",
    "AWS::URLSuffix": "amazonaws.com",
}
_NO_VALUE: Final = object()
_NAMED: Final = re.compile(r"\$\{([^}!]+)\}")


@dataclass(frozen=True)
class Expanded:
    """A template whose SAM resources, parameters and conditions are resolved. References to its resources remain."""

    resources: Mapping[str, dict[str, Any]]
    outputs: Mapping[str, dict[str, Any]]
    refusals: list[str]
    """What the template's rules say against the parameters: with any of these nothing is deployed."""

    def of(self, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the logical id and the properties of each resource of a type, such as `SQS::Queue`."""
        for name, resource in self.resources.items():
            if resource["Type"] == f"AWS::{kind}":
                yield name, resource.get("Properties", {})

    def mappings(self, kind: str) -> Iterator[tuple[str, dict[str, Any], str]]:
        """Yield event source mappings whose source is of a type, such as `SQS::Queue`, with the source's logical id."""
        sources = {name for name, _ in self.of(kind)}
        for name, mapping in self.of("Lambda::EventSourceMapping"):
            source = named(mapping["EventSourceArn"])
            if source in sources:
                yield name, mapping, source

    def values(self, where: str) -> list[Any]:
        """The different values at a path: `Api/Name`, or `SQS::Queue/VisibilityTimeout` for all of a type.

        A path leads through properties or to an attribute such as `DeletionPolicy`. What is not there is None.
        """
        name, _, way = where.partition("/")
        of_type = (one for one in self.resources.values() if one["Type"] == f"AWS::{name}")
        found: list[Any] = []
        for resource in of_type if "::" in name else [self.resources[name]]:
            value: Any = {**resource.get("Properties", {}), **resource}
            for key in way.split("."):
                value = value[int(key)] if isinstance(value, list) else (value or {}).get(key)
            if value not in found:
                found.append(value)
        return found

    def properties(self, name: str) -> dict[str, Any]:
        """Return the properties of a resource."""
        properties: dict[str, Any] = self.resources[name].get("Properties", {})
        return properties


def named(reference: Any) -> str:
    """Return the logical id that a `Ref`, an `Fn::GetAtt` or a `${…}` names; '' if it names none."""
    match reference:
        case {"Ref": str(name)}:
            return name
        case {"Fn::GetAtt": [str(name), *_]}:
            return name
        case {"Fn::GetAtt": str(name)}:
            return name.partition(".")[0]
        case str(text):
            match_ = _NAMED.search(text)
            return match_[1].partition(".")[0] if match_ else ""
    return ""


def source(path: Path = TEMPLATE) -> dict[str, Any]:
    """Parse a template."""
    template: dict[str, Any] = yaml_parse(path.read_text(encoding="utf-8"))
    return template


def expanded(template: Mapping[str, Any], parameters: Mapping[str, str] | None = None) -> Expanded:
    """Expand a template with parameters; the others have their defaults."""
    template = addressed(template)
    values = {name: parameter.get("Default") for name, parameter in template["Parameters"].items()} | dict(
        parameters or {}
    )
    session = boto3.Session(region_name=REGION)
    translated = Translator({}, Parser(), boto_session=session).translate(template, values)
    resolver = _Resolver(values, translated.get("Conditions", {}))
    resources = {
        name: resolver.resolve(resource)
        for name, resource in translated["Resources"].items()
        if "Condition" not in resource or resolver.holds(resource["Condition"])
    }
    return Expanded(resources, resolver.resolve(translated["Outputs"]), list(_refusals(template, resolver)))


def _refusals(template: Mapping[str, Any], resolver: "_Resolver") -> Iterator[str]:
    for rule in template["Rules"].values():
        if resolver.resolve(rule.get("RuleCondition", True)):
            for assertion in rule["Assertions"]:
                if not resolver.resolve(assertion["Assert"]):
                    yield assertion["AssertDescription"]


@cache
def template() -> dict[str, Any]:
    """The template of the repository, to read alone."""
    return source()


@cache
def deployed(**parameters: str) -> Expanded:
    """Expand that template with parameters, to read alone."""
    return expanded(template(), parameters)


class _Resolver:
    """Replaces parameters and conditions by their values."""

    def __init__(self, values: Mapping[str, Any], conditions: Mapping[str, Any]) -> None:
        self._values = {**_PSEUDO, **values}
        self._conditions = conditions

    def holds(self, condition: str) -> bool:
        return bool(self.resolve(self._conditions[condition]))

    def _substituted(self, text: str, values: Mapping[str, Any]) -> str:
        return _NAMED.sub(lambda name: str(values.get(name[1], name[0])), text)

    def resolve(self, node: Any) -> Any:  # noqa: C901, PLR0911, PLR0912 - one case for each function
        match node:
            case list():
                return [value for value in map(self.resolve, node) if value is not _NO_VALUE]
            case {"Ref": str(name)}:
                return _NO_VALUE if name == "AWS::NoValue" else self._values.get(name, node)
            case {"Condition": str(name), **others} if not others:
                return self.holds(name)
            case {"Fn::If": [condition, yes, no]}:
                return self.resolve(yes if self.holds(condition) else no)
            case {"Fn::Equals": [left, right]}:
                return str(self.resolve(left)) == str(self.resolve(right))
            case {"Fn::Not": [one]}:
                return not self.resolve(one)
            case {"Fn::And": several}:
                return all(self.resolve(several))
            case {"Fn::Or": several}:
                return any(self.resolve(several))
            case {"Fn::Sub": str(text)}:
                return self._substituted(text, self._values)
            case {"Fn::Sub": [str(text), dict(names)]}:
                return self._substituted(text, {**self._values, **self.resolve(names)})
            case {"Fn::Split": [separator, text]}:
                return str(self.resolve(text)).split(separator)
            case {"Fn::Join": [separator, parts]}:
                return str(separator).join(str(part) for part in self.resolve(parts))
            case dict():
                resolved = {name: self.resolve(value) for name, value in node.items()}
                return {name: value for name, value in resolved.items() if value is not _NO_VALUE}
        return node
