"""The template keeps our rules with any parameters, and every rule can fail."""

from copy import deepcopy
from dataclasses import replace
from typing import Any, Final

import pytest

from tests.template.expansion import KEY, TOKENS, deployed
from tests.template.rules import RULES, complaints

AUDITING: Final = {"AuditSchedule": "rate(1 hour)"}
SETTLING: Final = {"Settlements": "true", "SettleSchedule": "rate(1 hour)"}
ANNOUNCING: Final = {"Announcements": "true"}
EVERYTHING: Final = {**AUDITING, **SETTLING, **ANNOUNCING, **TOKENS, "KmsKeyArn": KEY, "TableCapacity": "provisioned"}


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"WriterMaximumConcurrency": "0", "WriterBatchingWindow": "60", "ProjectorBatchingWindow": "300"},
        AUDITING,
        SETTLING,
        ANNOUNCING,
        EVERYTHING,
    ],
    ids=",".join,
)
def test_it_keeps_to_the_rules(parameters: dict[str, str]) -> None:
    assert complaints(deployed(**parameters)) == []


GONE: Final = object()
MISTAKES: Final = {
    "ActivityQueue.Properties.VisibilityTimeout": 360,
    "ProjectorFunction.Properties.Timeout": 61,
    "FailureBucket.Properties.LifecycleConfiguration.Rules.0.ExpirationInDays": 60,
    "FailureBucketOverTlsOnly": GONE,
    "MaintenanceFunctionRole.Properties.Policies.0.PolicyDocument.Statement.WhatThereIs.Condition": {},
    "PlacesWriteThrottlesAlarm": GONE,
    "DriftAlarm.Properties.AlarmDescription": "Drift",
    "DriftAlarm.Properties.MetricName": "Drifts",
}
"""What stands at a path instead, one for each rule. A statement is named by its Sid."""


def test_every_rule_can_fail() -> None:
    stack = deployed(**EVERYTHING)
    resources = deepcopy(dict(stack.resources))
    for where, instead in MISTAKES.items():
        node: Any = resources
        *way, last = where.split(".")
        for key in way:
            if isinstance(node, list):
                node = node[int(key)] if key.isdigit() else next(one for one in node if one.get("Sid") == key)
            else:
                node = node[key]
        node[last] = instead
        if instead is GONE:
            del node[last]
    wrong = complaints(replace(stack, resources=resources))

    assert {name for name, _ in wrong} == {rule.__name__ for rule in RULES}, wrong
    assert ("failures_have_alarms", "RankingsTable/places: has no alarm on WriteThrottleEvents") in wrong
