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


WAITING: Final = {"WriterMaximumConcurrency": "0", "WriterBatchingWindow": "60", "ProjectorBatchingWindow": "300"}


@pytest.mark.parametrize("parameters", [{}, WAITING, AUDITING, SETTLING, ANNOUNCING, EVERYTHING], ids=",".join)
def test_it_keeps_to_the_rules(parameters: dict[str, str]) -> None:
    assert complaints(deployed(**parameters)) == []


MISTAKES: Final = {
    "ActivityQueue.Properties.VisibilityTimeout": 360,
    "ProjectorFunction.Properties.Timeout": 61,
    "FailureBucket.Properties.LifecycleConfiguration.Rules.0.ExpirationInDays": 60,
    "FailureBucketOverTlsOnly.Properties.Bucket": "another",
    "WriterFunctionRole.Properties.Policies.0.PolicyDocument.Statement.4.Condition": {},
    "PlacesWriteThrottlesAlarm.Properties.MetricName": "ReadThrottleEvents",
    "DriftAlarm.Properties.AlarmDescription": "Drift",
    "DriftAlarm.Properties.MetricName": "Drifts",
}
"""What stands at a path instead, one for each rule."""


def test_every_rule_can_fail() -> None:
    stack = deployed(**EVERYTHING)
    resources = deepcopy(dict(stack.resources))
    for where, instead in MISTAKES.items():
        node: Any = resources
        *way, last = where.split(".")
        for key in way:
            node = node[int(key)] if isinstance(node, list) else node[key]
        node[last] = instead
    wrong = complaints(replace(stack, resources=resources))

    assert {name for name, _ in wrong} == {rule.__name__ for rule in RULES}, wrong
    assert ("failures_have_alarms", "RankingsTable/places: has no alarm on WriteThrottleEvents") in wrong
