"""Checks of what tells people that something is wrong, and of what is wrong already."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from standings.domain.windows import instant
from standings_cli.doctor.deployed import Deployed
from standings_cli.doctor.finding import Finding, failed, note, ok

_UNTIL_POLLED: Final = frozenset({"QueueNotPolledAlarm", "StreamNotPolledAlarm", "LooksNotPolledAlarm"})
_FIRST_POLLS: Final = timedelta(minutes=20)
_IN_QUEUE: Final = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
_LONG_RUN: Final = timedelta(hours=1)
_LONGEST_CRON: Final = timedelta(days=63)


def alarms(deployed: Deployed) -> Iterator[Finding]:
    """All alarms are there, none rings, and they go to the topic."""
    pages = deployed.client("cloudwatch").get_paginator("describe_alarms").paginate(AlarmTypes=["MetricAlarm"])
    ours = {name: logical for logical, name in deployed.resources.items() if logical.endswith("Alarm")}
    found: dict[str, Mapping[str, Any]] = {
        ours[alarm["AlarmName"]]: alarm
        for page in pages
        for alarm in page["MetricAlarms"]
        if alarm["AlarmName"] in ours
    }
    missing = sorted(set(ours.values()) - found.keys())
    ringing = sorted(name for name, alarm in found.items() if alarm.get("StateValue") == "ALARM")
    fresh = [name for name in ringing if name in _UNTIL_POLLED and _age(deployed, found[name]) < _FIRST_POLLS]
    if missing or not ours:
        yield failed("alarms", f"gone: {', '.join(missing) or 'all of them'}: deploy again")
    elif set(ringing) - set(fresh):
        yield failed("alarms", f"ringing: {', '.join(ringing)}: docs/how-to/alarms.md says what to do")
    elif fresh:
        text = f"{', '.join(fresh)}: new, and ringing until Lambda polls for the first time: look again in 20 minutes"
        yield note("alarms", text)
    else:
        yield ok("alarms", f"none of {len(found)} rings")
    yield _topic(deployed.parameter("AlarmTopicArn"), found)


def _age(deployed: Deployed, alarm: Mapping[str, Any]) -> timedelta:
    changed = alarm.get("AlarmConfigurationUpdatedTimestamp")
    return timedelta.max if changed is None else deployed.now() - changed


def _topic(topic: str, found: Mapping[str, Mapping[str, Any]]) -> Finding:
    about = "topic of the alarms"
    if not topic:
        return note(about, "nobody hears them: deploy with AlarmTopicArn, an SNS topic of yours")
    if silent := sorted(name for name, alarm in found.items() if not alarm.get("AlarmActions")):
        return failed(about, f"without an action: {', '.join(silent)}: deploy again")
    if disabled := sorted(name for name, alarm in found.items() if not alarm.get("ActionsEnabled", True)):
        return failed(about, f"actions are disabled: {', '.join(disabled)}: `aws cloudwatch enable-alarm-actions`")
    if others := sorted(name for name, alarm in found.items() if topic not in alarm["AlarmActions"]):
        return failed(about, f"expected {topic}, got another one for {', '.join(others)}: deploy again")
    return ok(about, topic)


def refused(deployed: Deployed) -> Iterator[Finding]:
    """The dead-letter queue is empty. Messages that somebody reads just now, and are hidden, count too."""
    asked = {"QueueUrl": deployed.resources["ActivityDeadLetterQueue"], "AttributeNames": list(_IN_QUEUE)}
    counts = deployed.client("sqs").get_queue_attributes(**asked)["Attributes"]
    about = "refused messages"
    if count := sum(int(counts[name]) for name in _IN_QUEUE):
        yield failed(about, f"there are {count:,}: `standings dlq list` shows them with their reasons")
    else:
        yield _left(deployed, "dead_letters", about, "standings dlq list")


def parked(deployed: Deployed) -> Iterator[Finding]:
    """No record of the stream is parked."""
    yield _left(deployed, "parked", "parked records", "standings parked list")


def audits(deployed: Deployed) -> Iterator[Finding]:
    """Audits run as scheduled; those of this turn and the one before found no difference and left no board out."""
    about = "scheduled audits"
    schedule = deployed.parameter("AuditSchedule")
    if not schedule:
        yield note(about, "none, so only who asks learns of drift: deploy with AuditSchedule, such as 'rate(1 hour)'")
        return
    (answer,) = deployed.connection.maintenance.answers("audits", {}, "show")
    turns = [turn for turn in (answer["turn"], answer["last"]) if turn is not None]
    left_out = sorted({board for turn in turns for board in turn["failed"]})
    if not turns:
        yield note(about, "none has run yet")
    elif deployed.now() - datetime.fromtimestamp(answer["ran_at"] / 1000, UTC) > _overdue(schedule):
        ran = instant(answer["ran_at"])
        yield failed(
            about, f"the last run was at {ran}, with the schedule {schedule}: is its rule enabled? deploy again"
        )
    elif left_out:
        yield failed(about, f"left out {', '.join(left_out)}: the log of the maintenance function says why")
    elif drift := sum(turn["drift"] for turn in turns):
        yield failed(
            about, f"{drift} differences since {instant(turns[-1]['since'])}: `standings audit` shows what is left"
        )
    else:
        yield ok(about, f"no difference; the last run was at {instant(answer['ran_at'])}")


def _overdue(schedule: str) -> timedelta:
    """How long ago the last run may be: two periods of a rate, with time for a long run. A cron may be monthly."""
    rate = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", schedule)
    return 2 * timedelta(**{f"{rate[2]}s": int(rate[1])}) + _LONG_RUN if rate else _LONGEST_CRON


def settlements(deployed: Deployed) -> Iterator[Finding]:
    """Where a family of boards settles its periods, the stack can."""
    about = "settled periods"
    (answer,) = deployed.connection.maintenance.answers("settlements", {}, "show")
    families = ", ".join(answer["families"])
    if families and not answer["settles"]:
        yield failed(about, f"boards.toml settles those of {families}, but the stack cannot: set Settlements=true")
    elif families and not deployed.parameter("SettleSchedule"):
        yield note(about, "only who asks settles them: deploy with SettleSchedule, such as 'rate(1 hour)'")
    else:
        yield ok(about, f"those of {families}" if families else "boards.toml settles none")


def announcements(deployed: Deployed) -> Iterator[Finding]:
    """Where a family of boards announces its tops, the stack can."""
    about = "announced tops"
    (answer,) = deployed.connection.maintenance.answers("announcements", {}, "show")
    families = ", ".join(answer["families"])
    if families and not answer["announces"]:
        yield failed(about, f"boards.toml announces those of {families}, but the stack cannot: set Announcements=true")
    else:
        yield ok(about, f"those of {families}" if families else "boards.toml announces none")


def _left(deployed: Deployed, task: str, about: str, command: str) -> Finding:
    (answer,) = deployed.connection.maintenance.answers(task, {"limit": 1}, "list")
    if answer.get("messages") or answer.get("objects"):
        return failed(about, f"there are some: `{command}` shows them with their reasons")
    return ok(about, "none")
