"""The README is short. The reference names every call and every error that the API's description has."""

import json
import re
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).parents[2]
REFERENCE: Final = PROJECT / "docs" / "reference"
DESCRIPTION: Final = (PROJECT / "functions" / "query" / "openapi.json").read_text(encoding="utf-8")
RANKING: Final = "/boards/{board}/{metric}/{window}"


def test_the_readme_fits_on_three_screens() -> None:
    lines = (PROJECT / "README.md").read_text(encoding="utf-8").splitlines()

    assert len(lines) <= 150
    assert [line for line in lines if len(line) > 120 and not line.startswith("|")] == []


def test_the_reference_names_every_call() -> None:
    named = {
        (method, path.replace("{ranking}", RANKING))
        for method, path in re.findall(r"`(GET|PUT|POST|DELETE) ([^?` ]+)", (REFERENCE / "http.md").read_text("utf-8"))
    }

    assert named == {
        (method.upper(), path)
        for path, item in json.loads(DESCRIPTION)["paths"].items()
        for method in item
        if method in ("get", "put", "post", "delete")
    }


def test_the_reference_names_every_error() -> None:
    described = set(re.findall(r"urn:standings:([a-z-]+)", DESCRIPTION))
    named = re.findall(r"`([a-z]+(?:-[a-z]+)*)`", (REFERENCE / "errors.md").read_text("utf-8").partition("|---")[2])

    assert described - set(named) == set()
