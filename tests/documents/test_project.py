"""What stands around the code, rules for names and imports, the tree of the layer, and what `make docs` refuses."""

import ast
import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
import tzdata
import yaml  # type: ignore[import-untyped]

from standings_cli import VERSION
from standings_cli.__main__ import parser

PROJECT: Final = Path(__file__).parents[2]
ROOTS: Final = ("layers", "functions", "api", "standings_cli", "demo", "package", "benchmarks", "tests")
MEANINGLESS: Final = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "store", "answers"}
PYPROJECT: Final = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXAMPLE: Final = PROJECT / "examples" / "deploy-workflow" / "deploy.yml"
LAYER_PINS: Final = ("requirements/layer.in", "requirements/demo.in", "layers/standings/requirements.txt")
WORKFLOWS: Final = (*sorted((PROJECT / ".github" / "workflows").glob("*.yml")), EXAMPLE)


def workflow(path: Path) -> dict[Any, Any]:
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in workflow(path)["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit_and_no_workflow_has_more_permissions_than_it_needs(path: Path) -> None:
    """A tag can be moved to other code; a commit cannot."""
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))

    assert len(used) == sum("uses" in step for step in steps(path)) > 0
    assert [action for action in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)] == []
    needed = {"check.yml": {"contents": "read"}, "release.yml": {"contents": "write"}}
    needed["deploy.yml"] = {"contents": "read", "id-token": "write"}

    assert workflow(path)["permissions"] == needed[path.name]
    assert all("permissions" not in job for job in workflow(path)["jobs"].values())


def test_a_change_runs_what_contributors_run() -> None:
    path = PROJECT / ".github" / "workflows" / "check.yml"

    assert [job["container"] for job in workflow(path)["jobs"].values()] == ["debian:13"]
    assert steps(path)[-1] == {"run": ".ci/run"}
    # Tests list the project's files with git, which refuses a checkout of another user.
    assert steps(path)[-2]["run"] == 'git config --global --add safe.directory "$GITHUB_WORKSPACE"'
    installed = steps(path)[0]["run"].split()
    assert {"npm", "python3", "python3-venv", "make", "git", "curl"} <= set(installed)
    assert any(package.endswith("jre-headless") for package in installed)


def test_the_example_checks_boards_deploys_and_looks_at_what_it_deployed() -> None:
    ran = [step["run"].split() for step in steps(EXAMPLE) if "run" in step]
    ours = [words[1:] for words in ran if words[0].endswith("/standings")]

    assert [words[1] for words in ran if words[0].endswith("/sam")] == ["build", "deploy"]
    assert [parser().parse_args(words).command for words in ours] == ["boards", "doctor"]
    assert (PROJECT / ours[0][-1]).exists()


def test_the_version_is_that_of_the_citation_and_the_changelog_and_a_release_gets_its_wheel() -> None:
    """The name that the workflow expects is that of `pyproject.toml`."""
    citation = yaml.safe_load((PROJECT / "CITATION.cff").read_text(encoding="utf-8"))
    changelog = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
    release = (PROJECT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")

    assert citation["version"] == VERSION
    assert re.findall(r"^## ([\d.]+)", changelog, re.MULTILINE)[0] == VERSION
    assert f'"dist/{PYPROJECT["name"].replace("-", "_")}-${{TAG#v}}-py3-none-any.whl"' in release


def test_programs_have_the_time_zones_of_the_layer() -> None:
    files = [(PROJECT / path).read_text("utf-8") for path in LAYER_PINS]
    pin = f"tzdata=={tzdata.__version__}"

    assert pin in PYPROJECT["dependencies"]
    assert {found for text in files for found in re.findall(r"^tzdata\S+", text, re.MULTILINE)} == {pin}


def test_whoever_copies_a_client_knows_how_often_it_tries() -> None:
    """It names its tries, or the page says how many there are: the SDK's default differs from release to release."""
    files = [path for folder in ("docs", "examples") for path in (PROJECT / folder).rglob("*.*")]
    made = 0
    for path in [PROJECT / "README.md", *files]:
        if path.suffix not in (".md", ".py", ".js", ".ts"):
            continue
        text = path.read_text(encoding="utf-8")
        for call in re.findall(r"(?:boto3\.(?:client|resource)|new \w+Client)\([^\n]*", text):
            made += 1
            assert "config=" in call or "maxAttempts" in call or "boto3 tries a call" in text, f"{path}: {call}"
    assert made >= 5


def test_badges_are_true_and_shown() -> None:
    says = {
        path.stem: re.findall("<title>(.*)</title>", path.read_text(encoding="utf-8"))
        for path in (PROJECT / "docs" / "pictures").glob("badge-*.svg")
    }

    assert says == {
        "badge-version": [f"version: {VERSION}"],
        "badge-python": [f"Python: {PYPROJECT['requires-python'].removeprefix('>=')} or newer"],
        "badge-license": [f"license: {PYPROJECT['license']}"],
    }
    shown = re.findall(r"!\[\w+\]\(docs/pictures/(badge-\w+)\.svg\)", (PROJECT / "README.md").read_text("utf-8"))
    assert sorted(shown) == sorted(says)


def test_no_text_says_to_install_the_project_of_another() -> None:
    """The package index has another `standings`, and ours is not there; a wheel, or `.`, is what there is."""
    folders = ("docs", "examples", "standings_cli", "layers", "demo", "package", "benchmarks", ".github", ".ci")
    files = [path for folder in folders for path in (PROJECT / folder).rglob("*")]
    files += [*PROJECT.glob("*.*"), PROJECT / "Makefile"]
    wrong = re.compile(r"pip3? install (?:-\S+ )*[\"']?standings(?![\w.-]*\.whl)")

    assert len(files) > 100
    assert [path for path in files if path.is_file() and wrong.search(path.read_bytes().decode(errors="ignore"))] == []


def modules() -> list[Path]:
    return sorted(path for root in ROOTS for path in (PROJECT / root).rglob("*.py"))


def of_project(path: Path) -> str:
    """Return a path relative to the project."""
    return path.relative_to(PROJECT).as_posix()


def nodes(path: Path) -> list[ast.AST]:
    return [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def test_no_module_has_a_name_without_meaning() -> None:
    assert [of_project(path) for path in modules() if path.stem in MEANINGLESS] == []


@pytest.mark.parametrize("path", [path for path in modules() if of_project(path).startswith("tests")], ids=of_project)
def test_no_test_module_imports_a_private_name_of_another(path: Path) -> None:
    imports = [node for node in nodes(path) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if node.level or (node.module or "").startswith("tests")]
    assert [alias.name for node in ours for alias in node.names if re.match("_[^_]", alias.name)] == []


KINDS: Final = re.compile(r"\.of_kind\b|\.rolling\b|\bisinstance\(.*\b(Move|Shift|Calendar\w+|Rolling\w+)\b")
ROLLING: Final = re.compile(r"^(from|import) standings\.rankings\.rolling\b", re.MULTILINE)


def test_only_the_domain_and_the_package_rankings_know_kinds_of_windows() -> None:
    """Others have `Rankings`, `RankingReads` and `RankingChecks`, which choose by the window."""
    texts = {
        of_project(path): path.read_text("utf-8")
        for path in modules()
        if of_project(path).startswith(("layers/", "functions/"))
    }
    knowing = [name for name, text in texts.items() if KINDS.search(text) or ROLLING.search(text)]
    storage = [name for name, text in texts.items() if "/rolling/" in name or ROLLING.search(text)]

    assert [name for name in knowing if "/domain/" not in name and "/rankings/" not in name] == []
    assert sorted(name.partition("/rankings/")[2] for name in storage if not name.endswith("__init__.py")) == [
        "checking.py",
        "reading.py",
        *(f"rolling/{name}.py" for name in ("checking", "reading", "steps", "storing")),
        "storing.py",
    ]


def test_each_environment_says_what_is_installed_where_and_what_for() -> None:
    dry = subprocess.check_output(["make", "--dry-run", "--always-make", "setup", "cost"], cwd=PROJECT, text=True)
    touched = re.findall(r"touch (\S+)/\.(?:\w+-)?installed", dry)
    said = re.findall(r'echo "installing .+ into (\S+): \w.+"', dry)
    assert sorted(said) == sorted(touched)
    assert len(said) == dry.count('echo "installing') > 10


def test_the_dev_container_is_the_system_of_the_checks() -> None:
    """There `.ci/run` types what README and docs say, on each pull request."""
    folder, checks = PROJECT / ".devcontainer", (PROJECT / ".github" / "workflows" / "check.yml").read_text("utf-8")
    made = json.loads((folder / "devcontainer.json").read_text("utf-8"))
    text = (folder / made["build"]["dockerfile"]).read_text("utf-8")
    (image,), (packages,) = re.findall("container: (.*)", checks), re.findall(r"recommends\n +(.*)", checks)
    needed = {
        *packages.split(),
        *re.findall(r"^need (\S+)", (PROJECT / ".ci" / "run").read_text("utf-8"), re.MULTILINE),
    }

    assert re.findall("^FROM (.*)$", text, re.MULTILINE) == [image]
    assert needed <= {*text.split()}
    assert len(needed) > len(packages.split())
    target = made["postCreateCommand"].removeprefix("make ")
    assert f"\n{target}:" in (PROJECT / "Makefile").read_text("utf-8")


def test_the_architecture_page_shows_every_module_of_the_layer() -> None:
    text = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = text.partition("<!-- tree -->")[2].partition("<!-- /tree -->")[0]
    shown = []
    parents: list[str] = []
    for line in tree.splitlines():
        if match := re.match(r"([│ ]*)[├└]── (\w+)", line):
            depth = len(match[1]) // 4
            parents[depth:] = [match[2]]
            shown.append("/".join(parents))
    layer = PROJECT / "layers" / "standings" / "standings"
    modules = [path.parent if path.name == "__init__.py" else path.with_suffix("") for path in layer.rglob("*.py")]

    assert sorted(shown) == sorted(path.relative_to(layer).as_posix() for path in modules if path != layer)


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
