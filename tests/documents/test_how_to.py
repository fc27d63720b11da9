"""The how-to pages: their arithmetic is right, and what they show of a template stands in it."""

import re
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).parents[2]
HOW_TO: Final = PROJECT / "docs" / "how-to"


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
