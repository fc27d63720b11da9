"""Rules for what starts by itself."""

import json
from collections.abc import Iterator
from typing import Any, Final

from tests.template.expansion import Expanded, named

_FUNCTION: Final = "MaintenanceFunction"
_AGE_SECONDS: Final = 3600


def schedules_start_tasks_that_end(template: Expanded) -> Iterator[str]:
    for name, rule in template.of("Events::Rule"):
        if not rule.get("ScheduleExpression"):
            yield f"{name}: exists without a schedule"
        for target in rule["Targets"]:
            if named(target["Arn"]) != _FUNCTION:
                yield f"{name}: expected {_FUNCTION} as its target, got {target['Arn']}"
            if not _is_bounded(target.get("Input")):
                expected = "the task audits.next with read_units, or settlements.next"
                yield f"{name}: expected {expected}, got {target.get('Input')}"


def _is_bounded(text: Any) -> bool:
    match json.loads(text or "null"):
        case {"settlements": {"next": {**others}}}:
            return not others
        case {"audits": {"next": {"read_units": int(units), **others}}}:
            return units > 0 and not others
    return False


def only_a_rule_of_the_stack_may_start_a_task(template: Expanded) -> Iterator[str]:
    rules = dict(template.of("Events::Rule"))
    started = set()
    for name, permission in template.of("Lambda::Permission"):
        if permission["Principal"] == "apigateway.amazonaws.com":
            continue
        source, function = named(permission.get("SourceArn")), named(permission["FunctionName"])
        if (permission["Principal"], permission["Action"]) != ("events.amazonaws.com", "lambda:InvokeFunction"):
            yield f"{name}: lets {permission['Principal']} do {permission['Action']}"
        elif source not in rules or function != _FUNCTION:
            yield f"{name}: lets {source or 'any rule of any account'} start {function}"
        else:
            started.add(source)
    for name in sorted(rules.keys() - started):
        yield f"{name}: may not start its function"


def scheduled_runs_are_not_repeated(template: Expanded) -> Iterator[str]:
    """The next run goes on from where a failed one was; what cannot start is held back for an hour at most."""
    bounded = {
        named(config["FunctionName"])
        for _, config in template.of("Lambda::EventInvokeConfig")
        if config.get("MaximumRetryAttempts") == 0
        and int(config.get("MaximumEventAgeInSeconds", 21600)) <= _AGE_SECONDS
    }
    for name, rule in template.of("Events::Rule"):
        for target in rule["Targets"]:
            if int(target.get("RetryPolicy", {}).get("MaximumEventAgeInSeconds", 86400)) > _AGE_SECONDS:
                yield f"{name}: expected a MaximumEventAgeInSeconds of at most {_AGE_SECONDS}"
            if named(target["Arn"]) not in bounded:
                yield f"{name}: Lambda repeats a run that fails: expected an EventInvokeConfig without retries"
