"""`make docs` refuses what it has to: here a small site with the real settings, once right, once wrong."""

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest
import yaml  # type: ignore[import-untyped]

from docs.site.navigation import expanded

PROJECT: Final = Path(__file__).parents[2]
MKDOCS: Final = PROJECT / ".local" / "tools" / "docs" / "bin" / "mkdocs"
NAVIGATION: Final = "INHERIT: real.yml\nnav: [index.md, how-to/, contributing.md, changelog.md, security.md]\n"
PAGES: Final = {
    "README.md": "# Home\n\n[here](docs/how-to/first.md#one-two) <img src='docs/dot.svg'>\n",
    "docs/how-to/first.md": "# First\n\n## One, two\n\n[a](../../README.md) [b](../../code.py) [c](../../code)\n",
    "docs/dot.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
    "code.py": "# no heading\n",
    "code/other.toml": "[nothing](here)\n",
    **{name: f"# {name}\n\n[MIT](https://opensource.org/license/mit)\n" for name in ("CHANGELOG.md", "SECURITY.md")},
    "CONTRIBUTING.md": "# Contributing\n\n```mermaid\nsequenceDiagram\n  a->>b: c\n```\n",
}


EVIDENCE: Final = {"testing.md", "performance.md", "reads.md", "speed.md", "lanes.md", "safeguards.md"}


def test_the_navigation_has_four_kinds_of_pages_and_the_evidence_apart() -> None:
    text = (PROJECT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2].partition("\n\n")[0]
    kinds = {name: pages_of(entries) for one in yaml.safe_load(text) for name, entries in one.items()}

    assert [*kinds] == ["Home", "Tutorials", "How-to", "Reference", "Explanation", "Evidence", "Project"]
    for name, folder in (("Tutorials", "tutorials/"), ("How-to", "how-to/"), ("Reference", "reference/")):
        assert [page for page in kinds[name] if not page.startswith(folder)] == []
    assert {*kinds["Evidence"]} == EVIDENCE
    assert {"architecture.md", "rolling-windows.md", "guarantees.md", "cost.md", "comparison.md", "decisions/"} <= {
        *kinds["Explanation"]
    }


def pages_of(entries: object) -> list[str]:
    """Return the pages of a part of the navigation, with those of the parts in it."""
    if isinstance(entries, str):
        return [entries]
    parts = entries.values() if isinstance(entries, dict) else entries
    assert isinstance(parts, Iterable)
    return [page for part in parts for page in pages_of(part)]


def built(place: Path, pages: dict[str, str]) -> tuple[int, str]:
    """Build a site with the real settings; return mkdocs' status and what it printed."""
    shutil.copy(PROJECT / "mkdocs.yml", place / "real.yml")
    shutil.copytree(PROJECT / "docs" / "site", place / "docs" / "site")
    for name, text in {**pages, "mkdocs.yml": NAVIGATION}.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run([MKDOCS, "build"], cwd=place, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_pages_link_as_they_do_in_the_repository(tmp_path: Path) -> None:
    status, said = built(tmp_path, PAGES)
    site = tmp_path / ".local" / "site"

    assert status == 0, said
    home, first = ((site / name).read_text(encoding="utf-8") for name in ("index.html", "how-to/first.html"))
    assert 'href="how-to/first.html#one-two"' in home
    assert 'href="../index.html"' in first
    assert 'href="../source/code.py.html"' in first
    assert 'href="../source/code/index.html"' in first
    assert (site / "source" / "code" / "other.toml.html").exists()
    # Neither fonts nor programs of other hosts; without mermaid's program the diagram is its text.
    assert "fonts.googleapis" not in home
    assert 'class="mermaid"' not in (site / "contributing.html").read_text(encoding="utf-8")


WRONG: Final = {
    "docs/how-to/first.md: gone page": ("[a](second.md)", "'second.md', but the target"),
    "docs/how-to/first.md: gone file": ("[a](../../gone.py)", "'../../gone.py', but the target"),
    "docs/how-to/first.md: gone heading here": ("[a](#nowhere)", "there is no such anchor on this page"),
    "docs/how-to/first.md: gone heading there": (
        "[a](../../README.md#none)",
        "'../index.html#none' has no such heading",
    ),
    "README.md: gone page in HTML": ('<a href="gone.html">a</a>', "index.html: 'gone.html' has no target on the site"),
    "README.md: not https": ("[a](http://example.com/)", "index.html: 'http://example.com/' is not an address"),
    "README.md: a space": ("[a](<https://example.com/a b>)", "b' is not an address"),
    "README.md: of another host": ("![a](https://example.com/a.svg)", "is loaded from another host"),
    "docs/lost.md: in no menu": ("# Lost", "lost.md"),
}


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What mkdocs says of a site in which everything is wrong."""
    pages = dict(PAGES)
    for name, (text, _) in WRONG.items():
        page = name.partition(":")[0]
        pages[page] = f"{pages.get(page, '')}\n{text}\n"
    status, said = built(tmp_path_factory.mktemp("wrong"), pages)
    assert status != 0
    return said


@pytest.mark.parametrize("name", WRONG)
def test_it_says_what_is_wrong(complaints: str, name: str) -> None:
    assert WRONG[name][1] in complaints


def test_a_folder_in_the_navigation_stands_for_its_pages(tmp_path: Path) -> None:
    for name in ("b.md", "a.md", "picture.svg"):
        (tmp_path / name).touch()

    assert expanded([{"Home": "index.md"}, {"Letters": ["./"]}, {"Empty": ["none/"]}], tmp_path) == [
        {"Home": "index.md"},
        {"Letters": ["a.md", "b.md"]},
    ]
