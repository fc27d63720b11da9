"""The templates in examples/ are valid, and do what the how-to pages say of them, whose arithmetic is right."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-untyped]

from standings.http import CALLS

PROJECT: Final = Path(__file__).parents[2]
HOW_TO: Final = PROJECT / "docs" / "how-to"
TEMPLATES: Final = sorted((PROJECT / "examples").glob("*/template.yaml"))
CACHING_DISABLED: Final = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"
"""The id of a cache policy of AWS's own."""


def resources(example: str) -> dict[str, Any]:
    text = (PROJECT / "examples" / example / "template.yaml").read_text(encoding="utf-8")
    return {name: resource["Properties"] for name, resource in yaml_parse(text)["Resources"].items()}


def test_the_templates_are_valid() -> None:
    command = [str(Path(sys.executable).with_name("cfn-lint")), "--", *map(str, TEMPLATES)]
    linted = subprocess.run(command, capture_output=True, text=True, check=False)

    assert TEMPLATES
    assert linted.returncode == 0, linted.stdout + linted.stderr


def test_the_cdn_keeps_what_the_api_allows_and_nothing_else() -> None:
    parts = resources("cdn")
    distribution = parts["Distribution"]["DistributionConfig"]
    (cached,) = distribution["CacheBehaviors"]
    policy = parts["RankingsPolicy"]["CachePolicyConfig"]
    parameters = yaml_parse((PROJECT / "template.yaml").read_text(encoding="utf-8"))["Parameters"]

    assert distribution["DefaultCacheBehavior"]["CachePolicyId"] == CACHING_DISABLED
    assert (cached["PathPattern"], cached["CachedMethods"]) == ("/boards/*", ["GET", "HEAD"])
    # Above 0, CloudFront keeps answers that are marked as no-cache.
    assert (policy["MinTTL"], policy["DefaultTTL"]) == (0, 0)
    allowed = parameters["ReadsMaxAge"]["AllowedPattern"]
    longest = policy["MaxTTL"]
    assert [bool(re.search(allowed, str(seconds))) for seconds in (longest, longest + 1)] == [True, False]


def test_the_cdn_tells_requests_apart_that_have_other_answers() -> None:
    parts = resources("cdn")
    key = parts["RankingsPolicy"]["CachePolicyConfig"]["ParametersInCacheKeyAndForwardedToOrigin"]
    forwarded = parts["RankingsRequests"]["OriginRequestPolicyConfig"]["HeadersConfig"]["Headers"]

    assert key["QueryStringsConfig"] == {"QueryStringBehavior": "all"}
    assert key["HeadersConfig"]["Headers"] == ["Origin"]
    # The API gets no token with a read that may be kept, so it cannot answer what only its bearer may read.
    assert "Authorization" not in forwarded


def test_the_pool_gives_the_scopes_that_the_api_asks_for() -> None:
    parts = resources("tokens")
    server = parts["Scopes"]
    given = {f"{server['Identifier']}/{scope['ScopeName']}" for scope in server["Scopes"]}

    assert given == {call.scope for call in CALLS.values()}
    assert set(parts["Server"]["AllowedOAuthScopes"]) == given


def test_people_cannot_post_unless_it_is_asked_for() -> None:
    *always, sometimes = resources("tokens")["App"]["AllowedOAuthScopes"]

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


def test_what_a_page_shows_of_a_template_stands_in_it() -> None:
    templates = [path.read_text(encoding="utf-8") for path in (PROJECT / "examples").glob("*/template.yaml")]
    shown = [
        block
        for page in HOW_TO.glob("*.md")
        for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    ]

    assert shown
    assert [block for block in shown if not any(block in template for template in templates)] == []


def test_the_limits_of_the_example_are_those_of_its_template() -> None:
    page = (HOW_TO / "behind-a-cdn.md").read_text(encoding="utf-8")
    template = (PROJECT / "examples" / "cdn" / "template.yaml").read_text(encoding="utf-8")
    said = re.findall(r"`(\w+)`: ([\d,]+) in five minutes", page)

    assert len(said) == 2
    for name, limit in said:
        assert re.search(
            rf"^  {name}:\n    Type: Number\n    Default: {limit.replace(',', '')}$", template, re.MULTILINE
        )
