"""Checks of what tells people that something is wrong, and of what is wrong already."""

from collections.abc import Iterator, Mapping
from typing import Any

from standings.domain.events.instants import instant
from standings_cli.doctor.deployed import Deployed
from standings_cli.doctor.finding import Finding, failed, note, ok


def alarms(deployed: Deployed) -> Iterator[Finding]:
    """Alarms go to a topic, and none rings."""
    pages = deployed.client("cloudwatch").get_paginator("describe_alarms").paginate(AlarmTypes=["MetricAlarm"])
    ours = {name: logical for logical, name in deployed.resources.items()}
    found: dict[str, Mapping[str, Any]] = {
        ours[alarm["AlarmName"]]: alarm
        for page in pages
        for alarm in page["MetricAlarms"]
        if alarm["AlarmName"] in ours
    }
    ringing = sorted(name for name, alarm in found.items() if alarm.get("StateValue") == "ALARM")
    if ringing:
        yield failed("alarms", f"ringing: {', '.join(ringing)}: docs/how-to/alarms.md says what to do")
    else:
        yield ok("alarms", f"none of {len(found)} rings")
    silent = sorted(name for name, alarm in found.items() if not alarm.get("AlarmActions"))
    if not deployed.parameter("AlarmTopicArn"):
        yield note("topic of the alarms", "nobody hears them: deploy with AlarmTopicArn, an SNS topic of yours")
    elif silent:
        yield failed("topic of the alarms", f"without an action: {', '.join(silent)}: deploy again")
    else:
        yield ok("topic of the alarms", deployed.parameter("AlarmTopicArn"))


def refused(deployed: Deployed) -> Iterator[Finding]:
    """The dead-letter queue is empty."""
    yield _left(deployed, "dead_letters", "refused messages", "standings dlq list")


def parked(deployed: Deployed) -> Iterator[Finding]:
    """No record of the stream is parked."""
    yield _left(deployed, "parked", "parked records", "standings parked list")


def audits(deployed: Deployed) -> Iterator[Finding]:
    """Audits run on a schedule; those of this turn and the one before found no difference and left no board out."""
    about = "scheduled audits"
    if not deployed.parameter("AuditSchedule"):
        yield note(about, "none, so only who asks learns of drift: deploy with AuditSchedule, such as 'rate(1 hour)'")
        return
    (answer,) = deployed.connection.maintenance.answers("audits", {}, "show")
    turns = [turn for turn in (answer["turn"], answer["last"]) if turn is not None]
    left_out = sorted({board for turn in turns for board in turn["failed"]})
    if not turns:
        yield note(about, "none has run yet")
    elif left_out:
        yield failed(about, f"left out {', '.join(left_out)}: the log of the maintenance function says why")
    elif drift := sum(turn["drift"] for turn in turns):
        yield failed(
            about, f"{drift} differences since {instant(turns[-1]['since'])}: `standings audit` shows what is left"
        )
    else:
        yield ok(about, f"no difference; the last run was at {instant(answer['ran_at'])}")


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
