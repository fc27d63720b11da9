"""`make docs` refuses what it has to: here a small site with the real settings, once right, once wrong."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

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


def test_it_says_everything_that_is_wrong(tmp_path: Path) -> None:
    pages = dict(PAGES)
    for name, (text, _) in WRONG.items():
        page = name.partition(":")[0]
        pages[page] = f"{pages.get(page, '')}\n{text}\n"
    status, said = built(tmp_path, pages)
    assert status != 0
    assert [name for name, (_, words) in WRONG.items() if words not in said] == []
