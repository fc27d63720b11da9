"""The template keeps the rules with any parameters, and every rule can fail."""

import json
from copy import deepcopy
from functools import cache
from pathlib import Path

import pytest

from tests.template import weakenings
from tests.template.__main__ import main
from tests.template.expansion import expanded, source
from tests.template.optional_weakenings import (
    ANNOUNCING,
    KEYED,
    OPTIONALLY_WEAKENED,
    OWN,
    PROVISIONED,
    SETTLING,
    TOKENS,
)
from tests.template.rules import RULES, complaints
from tests.template.weakened import WEAKENED, Weakening
from tests.template.weakenings import Template


@cache
def read() -> Template:
    return source()


def test_it_keeps_to_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    "parameters",
    [
        TOKENS,
        OWN,
        {"AlarmTopicArn": "arn:aws:sns:us-east-1:123456789012:ops"},
        {"WarmWriteUnits": "8000"},
        {"WriterMaximumConcurrency": "0", "WriterBatchingWindow": "60", "ProjectorBatchingWindow": "300"},
        {"DataDeletionPolicy": "Retain", "LogRetentionDays": "1"},
        {"AuditSchedule": "rate(1 hour)"},
        SETTLING,
        ANNOUNCING,
        {**ANNOUNCING, **KEYED},
        {**SETTLING, **KEYED, "AuditSchedule": "rate(1 hour)"},
        {"Tracing": "Active", **KEYED},
        {"WarmWriteUnits": "8000", **PROVISIONED},
        {**KEYED, **PROVISIONED},
    ],
    ids=",".join,
)
def test_it_keeps_to_them_with_other_parameters(parameters: dict[str, str]) -> None:
    assert complaints(expanded(read(), parameters)) == []


def test_what_parameters_open_is_seen() -> None:
    open_reads = complaints(expanded(read(), {"OpenReads": "true"}))
    open_writes = complaints(expanded(read(), {"OpenWrites": "true", **TOKENS}))
    throw_away = complaints(expanded(read(), {"DataDeletionPolicy": "Delete"}))

    assert open_reads == [("routes_authenticate", "ReadRoute: $default needs no authentication")]
    assert [wrong for _, wrong in open_writes] == [
        "PostEventsRoute: POST /events needs no authentication",
        "PutMemberRoute: PUT /boards/{board}/member needs no authentication",
        "DeleteMemberRoute: DELETE /boards/{board}/member needs no authentication",
        "PutProfileRoute: PUT /members needs no authentication",
        "DeleteProfileRoute: DELETE /members needs no authentication",
    ]
    assert {rule for rule, _ in throw_away} == {"tables_are_protected", "buckets_are_closed_and_encrypted"}


@pytest.mark.parametrize("weakening", [*WEAKENED, *OPTIONALLY_WEAKENED], ids=lambda weakening: weakening.__name__)
def test_a_weakened_template_fails_by_its_own_rule(weakening: Weakening) -> None:
    template = deepcopy(read())
    weakening(template)
    parameters, expected = OPTIONALLY_WEAKENED.get(weakening) or ({}, WEAKENED[weakening])

    found = complaints(expanded(template, parameters))

    assert {rule for rule, _ in found} == expected.keys(), found
    for rule, words in expected.items():
        assert any(words in wrong for by, wrong in found if by == rule), found


def test_a_rebuild_that_waits_less_for_an_attempt_fails_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.template.rules.pipeline.MAX_ATTEMPT_S", 59)

    assert complaints(expanded(read())) == [
        ("attempts_end_in_time", f"{name}: expected a Timeout of at most 59 s, got 60: a rebuild waits no longer")
        for name in ("WriterFunction", "ProjectorFunction")
    ]


def test_every_rule_can_fail() -> None:
    expectations = [*WEAKENED.values(), *(expected for _, expected in OPTIONALLY_WEAKENED.values())]
    assert {rule for expected in expectations for rule in expected} == {rule.__name__ for rule in RULES}


def test_a_template_weakened_six_ways_fails_the_check_in_six_ways(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    six = [
        weakenings.whole_batches_retried,
        weakenings.retried_for_ever,
        weakenings.any_action,
        weakenings.a_reader_that_writes,
        weakenings.an_open_route,
        weakenings.logs_that_never_expire,
    ]
    template = deepcopy(read())
    for weakening in six:
        weakening(template)
    path = tmp_path / "template.yaml"
    path.write_text(json.dumps(template), encoding="utf-8")

    assert main([str(path)]) == 1

    *lines, closing = capsys.readouterr().out.splitlines()
    assert closing == f"template.yaml: 6 complaints by {len(RULES)} rules"
    for weakening in six:
        ((rule, words),) = WEAKENED[weakening].items()
        assert [line for line in lines if line.startswith(f"{rule}: ") and words in line], lines
