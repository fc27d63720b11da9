"""What can be counted of how the layer is told: from the top, in short functions, with docstrings that show values."""

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

LAYER: Final = Path(__file__).parents[2] / "layers" / "standings" / "standings"
MODULES: Final = sorted(LAYER.rglob("*.py"))
LONGEST: Final = 40
"""Lines of a function."""
SHAPED: Final = re.compile(r"\b(str|bytes)\b|dict\[|Mapping\[|tuple\[")
"""A result whose shape its type does not say."""
VALUE: Final = re.compile(r"[\d\"'{\[:]")
"""What code in a docstring has if it is a value: a name such as `Limits.equals` has none of it."""


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def public(path: Path) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The public functions of a module, and the public methods of its public classes."""
    name = path.relative_to(LAYER).as_posix()
    for node in tree_of(path).body:
        owners = [node] if isinstance(node, ast.FunctionDef) else node.body if isinstance(node, ast.ClassDef) else []
        for one in owners:
            if isinstance(one, ast.FunctionDef) and not one.name.startswith("_") and not _is_private(node):
                yield f"{name}:{one.name}", one


def _is_private(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and node.name.startswith("_")


@cache
def exceptions() -> frozenset[str]:
    """The names of all exceptions: Python's, and the classes of the layer that have one of them as a base."""
    found = {name for name in dir(builtins) if isinstance(getattr(builtins, name), type(Exception))}
    found = {name for name in found if issubclass(getattr(builtins, name), Exception)}
    classes = [node for path in MODULES for node in tree_of(path).body if isinstance(node, ast.ClassDef)]
    while new := {one.name for one in classes if found & {ast.unparse(base) for base in one.bases}} - found:
        found |= new
    return frozenset(found)


def names_an_exception(docstring: str) -> bool:
    """Whether it names what is raised, or the method that says it: "Raises as `post` does"."""
    return bool(exceptions() & set(re.findall(r"\w+", docstring))) or "Raises as `" in docstring


def shows_a_value(docstring: str) -> bool:
    """Whether it has a value as code, or text behind "such as"."""
    text = " ".join(docstring.split())
    return any(VALUE.search(code) for code in re.findall(r"`([^`]+)`", text)) or bool(
        re.search(r'such as [`"\d]', text)
    )


def test_only_values_count_as_examples() -> None:
    assert shows_a_value('A result is `{"id": "e1"}`.')
    assert shows_a_value("An environment variable, such as `SCORES_TABLE`.")
    assert not shows_a_value("Reads up to `Limits.equals` as `at_once` does, in the same order.")
    assert not shows_a_value("The entries between `first` (1) and `last`.")


def test_no_comment_stands_where_a_module_could_begin() -> None:
    """A comment between two definitions, with blank lines around it, is a heading: then there are two modules."""
    heading = re.compile(r"\n\n( *#[^\n]*\n)+\n")
    assert [path.relative_to(LAYER).as_posix() for path in MODULES if heading.search(path.read_text("utf-8"))] == []


def test_every_module_begins_with_what_others_use() -> None:
    """A module's `__getattr__` is what others use too: it is called for every name that they import."""
    private = []
    for path in MODULES:
        defined = [node for node in tree_of(path).body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
        if defined and defined[0].name.startswith("_") and defined[0].name != "__getattr__":
            private.append(f"{path.relative_to(LAYER).as_posix()}:{defined[0].name}")
    assert private == []


def test_no_function_is_long() -> None:
    functions = [(path, node) for path in MODULES for node in ast.walk(tree_of(path))]
    lengths = {
        f"{path.relative_to(LAYER).as_posix()}:{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path, node in functions
        if isinstance(node, ast.FunctionDef)
    }
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_what_a_function_raises_is_said() -> None:
    silent = []
    for path in MODULES:
        for name, function in public(path):
            raises = [node for node in ast.walk(function) if isinstance(node, ast.Raise) and node.exc is not None]
            if raises and not names_an_exception(ast.get_docstring(function) or ""):
                silent.append(name)
    assert silent == []


def test_half_of_the_results_whose_shape_is_not_plain_have_an_example() -> None:
    shaped = [
        (name, ast.get_docstring(function) or "")
        for path in MODULES
        for name, function in public(path)
        if function.returns is not None and SHAPED.search(ast.unparse(function.returns))
    ]
    without = [name for name, docstring in shaped if not shows_a_value(docstring)]
    assert 2 * len(without) <= len(shaped), without
