"""Rules for the code: telling module names, no private imports between test modules, the tree of the layer."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
ROOTS = ("layers", "functions", "standings_cli", "demo", "benchmarks", "tests")
MEANINGLESS = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "store", "answers"}


def modules() -> list[Path]:
    return sorted(path for root in ROOTS for path in (PROJECT / root).rglob("*.py"))


def of_project(path: Path) -> str:
    """Return a path relative to the project."""
    return path.relative_to(PROJECT).as_posix()


def test_no_module_has_a_name_without_meaning() -> None:
    assert [of_project(path) for path in modules() if path.stem in MEANINGLESS] == []


def private_imports(path: Path) -> Iterator[str]:
    """Yield the private names that a test module imports from other test modules."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("tests")):
            yield from (alias.name for alias in node.names if re.match("_[^_]", alias.name))


@pytest.mark.parametrize("path", [path for path in modules() if of_project(path).startswith("tests")], ids=of_project)
def test_no_test_module_imports_a_private_name_of_another(path: Path) -> None:
    assert list(private_imports(path)) == []


def test_the_architecture_page_shows_every_package_of_the_layer() -> None:
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
    packages = [
        path.parent.relative_to(layer).as_posix() for path in layer.rglob("__init__.py") if path.parent != layer
    ]

    assert sorted(shown) == sorted(packages)
