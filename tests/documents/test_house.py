"""The order of the house: small modules, folders with room, names that say something, no private imports in tests."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
ROOTS = ("layers", "functions", "standings_cli", "demo", "benchmarks", "tests")
MAX_LINES = 250
MAX_MODULES = 12
DRAWERS = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "store", "answers"}


def modules() -> list[Path]:
    return sorted(path for root in ROOTS for path in (PROJECT / root).rglob("*.py"))


def of_project(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


def test_no_module_is_longer_than_a_reader_wants() -> None:
    lengths = {of_project(path): len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}

    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


def test_no_folder_is_full() -> None:
    counts = Counter(of_project(path.parent) for path in modules() if path.name != "__init__.py")

    assert {folder: count for folder, count in counts.items() if count > MAX_MODULES} == {}


def test_no_module_is_a_drawer() -> None:
    assert [of_project(path) for path in modules() if path.stem in DRAWERS] == []


def private_imports(path: Path) -> Iterator[str]:
    """What a test module imports by a name that begins with an underscore, from another module of the tests."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("tests")):
            yield from (alias.name for alias in node.names if re.match("_[^_]", alias.name))


@pytest.mark.parametrize("path", [path for path in modules() if of_project(path).startswith("tests")], ids=of_project)
def test_no_test_imports_what_is_private_to_another(path: Path) -> None:
    assert list(private_imports(path)) == []


def test_the_tree_of_the_architecture_page_is_the_tree_of_the_layer() -> None:
    text = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = text.partition("<!-- tree -->")[2].partition("<!-- /tree -->")[0]
    shown = []
    above: list[str] = []
    for line in tree.splitlines():
        if match := re.match(r"([│ ]*)[├└]── (\w+)", line):
            depth = len(match[1]) // 4
            above[depth:] = [match[2]]
            shown.append("/".join(above))
    layer = PROJECT / "layers" / "standings" / "standings"
    packages = [
        path.parent.relative_to(layer).as_posix() for path in layer.rglob("__init__.py") if path.parent != layer
    ]

    assert sorted(shown) == sorted(packages)
