"""Rules for tables whose capacity is provisioned. Tables on demand have nothing to scale."""

from collections.abc import Iterator
from typing import Any, Final

from tests.template.expansion import Expanded, named

SIDES: Final = ("Read", "Write")
_TARGETS: Final = "ApplicationAutoScaling::ScalableTarget"
_POLICIES: Final = "ApplicationAutoScaling::ScalingPolicy"


def provisioned_capacity_is_scaled(template: Expanded) -> Iterator[str]:
    """Reads and writes of each table and index: what is not scaled stays at the minimum and throttles."""
    targets = {(target["ResourceId"], target["ScalableDimension"]): name for name, target in template.of(_TARGETS)}
    for where, kind, part, resource in _provisioned(template):
        if not part.get("ProvisionedThroughput"):
            yield f"{where}: expected a ProvisionedThroughput, got none"
        for side in SIDES:
            target = targets.pop((resource, f"dynamodb:{kind}:{side}CapacityUnits"), None)
            if target is None:
                yield f"{where}: expected a scalable target for {side}CapacityUnits, got none"
            else:
                yield from _target(template, target, side)
    for (resource, dimension), name in targets.items():
        yield f"{name}: scales {dimension} of {resource}, which no provisioned table or index has"


def _provisioned(template: Expanded) -> Iterator[tuple[str, str, dict[str, Any], str]]:
    """Yield provisioned tables and their indexes: name, kind, properties, the resource's name in auto scaling."""
    for name, table in template.of("DynamoDB::Table"):
        if table.get("BillingMode") != "PAY_PER_REQUEST":
            resource = f"table/${{{name}}}"
            yield name, "table", table, resource
            for index in table.get("GlobalSecondaryIndexes", []):
                yield f"{name}/{index['IndexName']}", "index", index, f"{resource}/index/{index['IndexName']}"


def _target(template: Expanded, name: str, side: str) -> Iterator[str]:
    target = template.properties(name)
    if int(target["MinCapacity"]) > int(target["MaxCapacity"]):
        yield f"{name}: its minimum is more than its maximum"
    tracked = [
        policy["TargetTrackingScalingPolicyConfiguration"]["PredefinedMetricSpecification"]["PredefinedMetricType"]
        for _, policy in template.of(_POLICIES)
        if named(policy["ScalingTargetId"]) == name and policy["PolicyType"] == "TargetTrackingScaling"
    ]
    if tracked != [f"DynamoDB{side}CapacityUtilization"]:
        yield f"{name}: expected a policy that tracks DynamoDB{side}CapacityUtilization, got {tracked or 'none'}"
