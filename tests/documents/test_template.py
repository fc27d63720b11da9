"""Pages name each template parameter, alarm and custom metric; the templates in examples/ do what pages say of them."""

import json
import os
import re
import subprocess
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any, Final

from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-untyped]

from standings.calls import CALLS
from tests.support.documents.pages import PAGES, PROJECT, blocks
from tests.template.expansion import expanded, source
from tests.template.rules import emitted

TEMPLATE: Final = source()
DOCS: Final = PROJECT / "docs"
PARAMETERS: Final = (DOCS / "reference" / "parameters.md").read_text(encoding="utf-8")
METRICS: Final = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
ALARMS: Final = (DOCS / "how-to" / "alarms.md").read_text(encoding="utf-8")
AUDIT: Final = (DOCS / "how-to" / "audit-and-rebuild.md").read_text(encoding="utf-8")
RESTORE: Final = (DOCS / "how-to" / "restore.md").read_text(encoding="utf-8")
LOCALLY: Final = (DOCS / "how-to" / "run-locally.md").read_text(encoding="utf-8")


def test_the_page_names_every_parameter_with_its_default_and_the_console_groups_them_as_it_does() -> None:
    rows = re.findall(r"^\| ((?:`[A-Z]\w+`(?:, )?)+) \| (.*?) \|", PARAMETERS, re.MULTILINE)
    documented: dict[str, str] = {}
    for names_cell, defaults_cell in rows:
        defaults = re.findall(r"`([^`]*)`", defaults_cell) or [""]
        names = re.findall(r"`(\w+)`", names_cell)
        documented.update(zip(names, defaults * len(names) if len(defaults) == 1 else defaults, strict=True))

    assert documented == {name: str(parameter["Default"]) for name, parameter in TEMPLATE["Parameters"].items()}
    sections = [text.partition("\n") for text in re.split(r"^## ", PARAMETERS, flags=re.MULTILINE)[1:]]
    cells = {title: re.findall(r"^\| ((?:`[A-Z]\w+`(?:, )?)+) \|", text, re.MULTILINE) for title, _, text in sections}
    groups = TEMPLATE["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]

    assert {group["Label"]["default"]: group["Parameters"] for group in groups} == {
        title: re.findall(r"`(\w+)`", " ".join(names)) for title, names in cells.items()
    }


def test_build_and_deploy_read_the_same_runtime_and_processor() -> None:
    """A layer fits one of each, and `sam deploy --guided` asks for them after the build."""
    commands = tomllib.loads((PROJECT / "samconfig.toml").read_text(encoding="utf-8"))["default"]
    overrides = {name: one["parameters"].get("parameter_overrides") for name, one in commands.items()}
    defaults = [f"{name}={TEMPLATE['Parameters'][name]['Default']}" for name in ("PythonRuntime", "Architecture")]

    assert overrides.pop("global") == " ".join(defaults)
    assert set(overrides.values()) == {None}


def test_the_pages_name_every_alarm_and_exactly_the_custom_metrics() -> None:
    resources = TEMPLATE["Resources"]
    alarms = [name for name, resource in resources.items() if resource["Type"] == "AWS::CloudWatch::Alarm"]
    documented = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", METRICS, re.MULTILINE)

    assert alarms
    assert [name for name in alarms if f"`{name}`" not in ALARMS] == []
    assert sorted(documented) == sorted((service, name) for service, names in emitted().items() for name in names)


def test_the_page_of_what_can_go_wrong_names_every_alarm_and_messages_that_there_are() -> None:
    page = (PROJECT / "docs" / "how-to" / "what-can-go-wrong.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    alarms, messages = (" ".join(row[column] for row in rows) for column in (1, 2))
    ours = [path for folder in ("layers", "functions", "standings_cli") for path in (PROJECT / folder).rglob("*.py")]
    sources = "\n".join(path.read_text(encoding="utf-8") for path in ours)
    logged, said = re.findall(r"(?<!\*)\*([a-z][a-z ]+)\*", messages), re.findall("`([^`]+)`", messages)
    of_gateway = {"Forbidden", "Too Many Requests"}
    commands = {f"standings {name}" for name in ("post", "doctor")} | {"GET /events?id=", "ERROR"}

    assert {len(row) for row in rows} == {4}
    there = {name for name, one in TEMPLATE["Resources"].items() if one["Type"] == "AWS::CloudWatch::Alarm"}
    assert set(re.findall(r"`(\w+Alarm)`", alarms)) == there
    assert len(logged) > 10
    assert [message for message in logged if f'"{message}"' not in sources] == []
    assert [one for one in {*said} - of_gateway - commands if one not in sources] == []


def test_nothing_looks_for_the_lines_that_lambda_leaves_out_at_warn() -> None:
    """They are the start, the end and the report of a run that went well."""
    lines = re.compile(r"""\bREPORT\b|"platform\.|@(billedD|d|initD)uration|@max|@type\b|@memory""")
    told = [f"{page.name}: {command}" for page in PAGES for block in blocks(page) for command in block.commands]
    folders = ("standings_cli", "demo", "layers/standings", "functions")
    programs = [path for folder in folders for path in (PROJECT / folder).rglob("*.py")]

    assert [text for text in told if lines.search(text)] == []
    assert [path for path in programs if lines.search(path.read_text(encoding="utf-8"))] == []
    assert not {"AWS::Logs::MetricFilter", "AWS::Logs::QueryDefinition"} & {
        one["Type"] for one in TEMPLATE["Resources"].values()
    }


def test_the_restore_template_has_the_same_tables_as_the_template() -> None:
    restored = yaml_parse((PROJECT / "docs" / "restore.yaml").read_text(encoding="utf-8"))["Resources"]
    template = expanded(source(), {"DeletionProtection": "true"})

    assert sorted(restored) == ["ProfilesTable", "ReceiptsTable", "ScoresTable"]
    for name, table in restored.items():
        assert table["Properties"] == template.properties(name)


AWS: Final = """#!/bin/sh
echo "$2 $4" >>"$ASKED"
[ "$2" = update-continuous-backups ] || exit 0
echo "ContinuousBackupsUnavailableException: Backups are being enabled for the table" >&2
[ "$(grep -c "^$2 $4$" "$ASKED")" = 3 ]
"""
"""Refuses to enable point-in-time recovery of a table twice, as DynamoDB may after a restore."""


def test_a_restored_table_that_is_not_ready_for_recovery_is_asked_again(tmp_path: Path) -> None:
    (block,) = re.findall(r"```sh\n# needs an AWS account\n(set -e\n.*?)```", RESTORE, re.DOTALL)
    step = block[block.index("# 3. ") : block.index("# 4. ")]
    for name, text in {"aws": AWS, "sleep": "#!/bin/sh\n"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    asked = tmp_path / "asked"
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["bash", "-c", f"set -e\n{step}"], env={"PATH": path, "ASKED": str(asked)}, check=True, timeout=60)

    counted = Counter(asked.read_text(encoding="utf-8").splitlines())
    for table in ("scores", "receipts"):
        assert counted[f"update-time-to-live standings-{table}-2"] == 1
    for table in ("scores", "receipts", "profiles"):
        assert counted[f"update-continuous-backups standings-{table}-2"] == 3


def test_the_pages_make_the_rankings_table_as_the_template_does() -> None:
    (text,) = re.findall(r"create-table --table-name \"\$RANKINGS\" --cli-input-json '(.*?)'", AUDIT, re.DOTALL)
    (expiry,) = re.findall(r"--table-name \"\$RANKINGS\" --time-to-live-specification (\S+)", AUDIT)
    made = json.loads(text)
    table = expanded(source()).properties("RankingsTable")

    assert made.pop("SSESpecification") == {"Enabled": table.pop("SSESpecification")["SSEEnabled"]}
    ttl = table.pop("TimeToLiveSpecification")
    assert expiry == f"Enabled={str(ttl['Enabled']).lower()},AttributeName={ttl['AttributeName']}"
    assert table.pop("DeletionProtectionEnabled") is False
    assert made == table


def test_the_page_invokes_existing_functions_with_existing_events_and_the_embedded_aws_that_is_pinned() -> None:
    lines = re.findall(r"sam local invoke (\S+) -e (\S+)", LOCALLY)
    assert lines
    for function, event in lines:
        assert TEMPLATE["Resources"][function]["Type"] == "AWS::Serverless::Function"
        assert (PROJECT / event).is_file()
    # With another release, read again in its code what the page says of it.
    pinned = (PROJECT / "requirements" / "ministack.in").read_text(encoding="utf-8")
    assert re.findall(r"ministack (\S+)\. ", LOCALLY) == re.findall(r"^ministack==(\S+)", pinned, re.MULTILINE)


HOW_TO: Final = PROJECT / "docs" / "how-to"
CACHING_DISABLED: Final = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"
"""The id of a cache policy of AWS's own."""


def resources(example: str) -> dict[str, Any]:
    text = (PROJECT / "examples" / example / "template.yaml").read_text(encoding="utf-8")
    return {name: resource["Properties"] for name, resource in yaml_parse(text)["Resources"].items()}


def test_the_webhook_has_the_pattern_of_the_page_for_its_stack() -> None:
    """`tests/e2e/test_told.py` shows what that lets through."""
    page = (HOW_TO / "announce-tops.md").read_text(encoding="utf-8")
    (pattern,) = [json.loads(line) for line in page.splitlines() if line.startswith("{") and "$or" in line]
    pattern["detail"]["stack"] = [{"Ref": "StandingsStack"}]
    assert resources("webhook")["Rule"]["EventPattern"] == pattern


def test_the_cdn_keeps_what_the_api_allows_and_tells_requests_apart_that_have_other_answers() -> None:
    parts = resources("cdn")
    distribution = parts["Distribution"]["DistributionConfig"]
    (cached,) = distribution["CacheBehaviors"]
    policy = parts["RankingsPolicy"]["CachePolicyConfig"]

    assert distribution["DefaultCacheBehavior"]["CachePolicyId"] == CACHING_DISABLED
    assert (cached["PathPattern"], cached["CachedMethods"]) == ("/boards/*", ["GET", "HEAD"])
    # Above 0, CloudFront keeps answers that are marked as no-cache.
    assert (policy["MinTTL"], policy["DefaultTTL"]) == (0, 0)
    allowed = TEMPLATE["Parameters"]["ReadsMaxAge"]["AllowedPattern"]
    longest = policy["MaxTTL"]
    assert [bool(re.search(allowed, str(seconds))) for seconds in (longest, longest + 1)] == [True, False]
    key = policy["ParametersInCacheKeyAndForwardedToOrigin"]
    forwarded = parts["RankingsRequests"]["OriginRequestPolicyConfig"]["HeadersConfig"]["Headers"]

    assert key["QueryStringsConfig"] == {"QueryStringBehavior": "all"}
    assert key["HeadersConfig"]["Headers"] == ["Origin"]
    # The API gets no token with a read that may be kept, so it cannot answer what only its bearer may read.
    assert "Authorization" not in forwarded


ALL_BUT_THE_HOST: Final = "b689b0a8-53d0-40ab-baf2-68738e2966ac"
"""The id of an origin request policy of AWS's own. Lambda finds a function URL by the header `Host`."""


def test_the_cdn_before_the_function_url_signs_each_request_and_keeps_what_the_cdn_of_the_api_keeps() -> None:
    parts, of_api = resources("function-url"), resources("cdn")
    distribution, access = parts["Distribution"]["DistributionConfig"], parts["Access"]["OriginAccessControlConfig"]
    (origin,), (cached,) = distribution["Origins"], distribution["CacheBehaviors"]
    grants = [parts[f"{name}Permission"] for name in ("Url", "Invoke")]

    assert (access["OriginAccessControlOriginType"], access["SigningBehavior"]) == ("lambda", "always")
    assert origin["OriginAccessControlId"] == {"Fn::GetAtt": ["Access", "Id"]}
    assert {grant["Action"] for grant in grants} == {"lambda:InvokeFunctionUrl", "lambda:InvokeFunction"}
    assert {grant["Principal"] for grant in grants} == {"cloudfront.amazonaws.com"}
    assert all(grant["SourceArn"]["Fn::Sub"].endswith(":distribution/${Distribution}") for grant in grants)
    assert [(one.get("FunctionUrlAuthType"), one.get("InvokedViaFunctionUrl")) for one in grants] == [
        ("AWS_IAM", None),
        (None, True),
    ]
    assert distribution["DefaultCacheBehavior"]["CachePolicyId"] == CACHING_DISABLED
    for behavior in (cached, distribution["DefaultCacheBehavior"]):
        assert behavior["OriginRequestPolicyId"] == ALL_BUT_THE_HOST
    kept, expected = (one["RankingsPolicy"]["CachePolicyConfig"] for one in (parts, of_api))
    assert {**kept, "Name": ""} == {**expected, "Name": ""}
    assert distribution["CustomErrorResponses"] == of_api["Distribution"]["DistributionConfig"]["CustomErrorResponses"]
    example = yaml_parse((PROJECT / "examples" / "function-url" / "template.yaml").read_text(encoding="utf-8"))
    assert {name for name, one in example["Parameters"].items() if "Default" not in one} <= TEMPLATE["Outputs"].keys()


def test_the_pool_gives_the_scopes_that_the_api_asks_for_but_people_cannot_post_unless_it_is_asked_for() -> None:
    parts = resources("tokens")
    server = parts["Scopes"]
    given = {f"{server['Identifier']}/{scope['ScopeName']}" for scope in server["Scopes"]}

    assert given == {call.scope for call in CALLS.values()}
    assert set(parts["Server"]["AllowedOAuthScopes"]) == given
    *always, sometimes = parts["App"]["AllowedOAuthScopes"]
    assert always == ["openid", "standings/read"]
    assert sometimes == {"Fn::If": ["MembersMayPost", "standings/write", {"Ref": "AWS::NoValue"}]}


def test_requests_that_pass_a_cdn_are_tabs_and_caches_by_seconds() -> None:
    text = (HOW_TO / "behind-a-cdn.md").read_text(encoding="utf-8")
    (found,) = re.findall(
        r"<!-- reaching: ([\d,]+) tabs, each asks every (\d+) seconds -->(.*?)<!-- /reach", text, re.DOTALL
    )
    tabs, every = int(found[0].replace(",", "")), int(found[1])
    rows = [
        [float(cell) for cell in row] for row in re.findall(r"^" + r"\| ([\d.]+) " * 4 + r"\|$", found[2], re.MULTILINE)
    ]

    assert len(rows) >= 5
    for max_age, one_cache, ten_caches, each_another in rows:
        caches = [1 / max_age, 10 / max_age] if max_age else [tabs / every] * 2
        assert [one_cache, ten_caches] == [round(rate, 2) for rate in caches]
        assert each_another == round(tabs / max(max_age, every), 2)


def test_what_a_page_shows_of_a_template_stands_in_it_and_limits_are_those_of_its_template() -> None:
    templates = [path.read_text(encoding="utf-8") for path in (PROJECT / "examples").glob("*/template.yaml")]
    shown = [
        block
        for page in HOW_TO.glob("*.md")
        for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    ]

    assert shown
    assert [block for block in shown if not any(block in template for template in templates)] == []
    page = (HOW_TO / "behind-a-cdn.md").read_text(encoding="utf-8")
    template = (PROJECT / "examples" / "cdn" / "template.yaml").read_text(encoding="utf-8")
    said = re.findall(r"`(\w+)`: ([\d,]+) in five minutes", page)

    assert len(said) == 2
    for name, limit in said:
        assert re.search(
            rf"^  {name}:\n    Type: Number\n    Default: {limit.replace(',', '')}$", template, re.MULTILINE
        )


SERVICES: Final = {
    "ApiGatewayV2": "API Gateway",
    "ApplicationAutoScaling": "Application Auto Scaling",
    "Events": "EventBridge",
    "Logs": "CloudWatch Logs",
    "Serverless": "Lambda",
}
"""Services whose names are not those of their resources."""


def test_the_plan_of_a_launch_names_each_service_and_the_writers_concurrency() -> None:
    text = (PROJECT / "docs" / "how-to" / "deploy.md").read_text(encoding="utf-8")
    needed = " ".join(text.partition("- **Permissions**")[2].partition("- **Room")[0].split())

    used = {resource["Type"].split("::")[1] for resource in TEMPLATE["Resources"].values()}
    assert [service for service in used if SERVICES.get(service, service) not in needed] == []
    writers = TEMPLATE["Parameters"]["WriterMaximumConcurrency"]["Default"]
    assert f"the writer alone takes up to {writers} (`WriterMaximumConcurrency`)" in text
