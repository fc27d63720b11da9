"""Draw small changes of the product, and run against each the tests that run its line: `make mutants SEED=1 N=200`.

A test may need a line that another test ran, and some changes alter nothing that anybody can see. So no share is 100 %:
compare it with the same seed's at another commit.
"""

import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from coverage import Coverage, CoverageData

ROOT = Path(__file__).parents[1]
AREAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutants"]
LONG = ("tests/faults", "tests/properties")  # they run most lines of an area, and are its last tests
MARKS = {"quick": "not thorough", "thorough": "thorough"}
PAIRS: list[tuple[Any, Any]] = [
    (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn),
    (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv), (ast.And, ast.Or), (ast.Continue, ast.Break),
    ("min", "max"), ("any", "all"),
]  # fmt: skip
SWAPPED = dict(PAIRS) | {new: old for old, new in PAIRS}
OPTIONS = ["--hypothesis-seed=0", "-o", "faulthandler_timeout=300", "-o", "faulthandler_exit_on_timeout=true"]
TEXTS = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)

Mutant = tuple[str, Path, int, str, bytes]  # area, module, line (0: imports run it), change, new source of the module


def pytest_runtest_logstart(nodeid: str) -> None:
    """Let coverage note by which test a line runs. Where lines are looked for, this module is a plugin."""
    if running := Coverage.current():
        running.switch_context(nodeid.partition("[")[0])
        if nodeid.startswith(LONG):
            running.stop()


def changed(node: ast.AST) -> str | None:
    """Return a node's source with one small change, or None where there is none to make."""
    new: Any = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[op]) if type(op) in SWAPPED:
            new.ops = [SWAPPED[type(op)]()]
        case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op) if type(op) in SWAPPED:
            new.op = SWAPPED[type(op)]()
        case ast.Constant(value=bool() | int() as value):
            new.value = not value if isinstance(value, bool) else value + 1
        case ast.Name(id=name, ctx=ast.Load()) if name in SWAPPED:
            new.id = SWAPPED[name]
        case ast.Expr(value=ast.Call()):
            new = ast.Pass()
        case ast.Continue() | ast.Break():
            new = SWAPPED[type(node)]()
        case _:
            return None
    return ast.unparse(new) if isinstance(new, ast.stmt | ast.Name | ast.Constant) else f"({ast.unparse(new)})"


def changes(node: ast.AST, called: bool = False) -> Iterator[tuple[Any, str, bool]]:
    """Yield each node that can be changed, but for texts and types; its changed source; whether a call runs it."""
    if isinstance(node, TEXTS) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
        return
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield node.test, f"(not ({ast.unparse(node.test)}))", called
    if (new := changed(node)) is not None:
        yield node, new, called
    for name, value in ast.iter_fields(node):
        if name not in {"annotation", "returns", "decorator_list"}:
            inside = called or (name == "body" and isinstance(node, ast.FunctionDef))
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from changes(child, inside)


def mutants(area: str) -> Iterator[Mutant]:
    """Yield every small change of an area's modules."""
    folder = ROOT / "functions" if area == "functions" else ROOT / "layers/standings/standings" / area
    for path in sorted(folder.rglob("*.py")):
        source = path.read_bytes()
        starts = [0, *(at + 1 for at, byte in enumerate(source) if byte == ord("\n"))]
        for node, new, ran in changes(ast.parse(source)):
            begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            change = f"{path.relative_to(ROOT)}:{node.lineno}  `{source[begin:end].decode()}` -> `{new}`"
            yield area, path.relative_to(ROOT), node.lineno * ran, change, source[:begin] + new.encode() + source[end:]


def enter_copy(folder: str) -> None:
    """Give a process a copy of the repository of its own, in which its tests run."""
    os.chdir(tempfile.mkdtemp(dir=folder))
    shutil.copytree(ROOT, ".", ignore=shutil.ignore_patterns(".git", ".venv", ".local"), dirs_exist_ok=True)
    for name in (".venv", ".local"):
        Path(name).symlink_to(ROOT / name)


def failed(level: str, tests: list[str], *runner: str) -> str:
    """Run tests. Return what they print if one fails or takes over five minutes, else nothing."""
    command = [sys.executable, *runner, "-m", "pytest", "-xq", *OPTIONS, "-m", MARKS[level], *tests]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if run.returncode in {0, 5} else run.stdout + run.stderr  # 5: no test of the area has the mark


def tests_by_line(level: str, area: str) -> dict[Path, dict[int, list[str]]]:
    """Run an area's tests without a change. Return which of them ran each line of a module."""
    if output := failed(level, ["-p", "tests.mutants", *AREAS[area]], "-m", "coverage", "run"):
        raise RuntimeError(f"the {level} tests of {area} fail without any change:\n{output}")
    ran = CoverageData()
    ran.read()
    return {Path(file).relative_to(Path.cwd()): ran.contexts_by_lineno(file) for file in ran.measured_files()}


def is_noticed(level: str, ran: dict[str, dict[Path, dict[int, list[str]]]], mutant: Mutant) -> bool:
    """Return whether a test that runs the changed line fails."""
    area, path, line, change, source = mutant
    lines = ran[area].get(path, {})
    known = max((each for each in lines if each <= line), default=0)  # an earlier one, within some statements
    long = [test for test in AREAS[area] if test.startswith(LONG)]
    tests = [*lines[known], *long] if "" not in lines.get(known, [""]) else AREAS[area]  # "": while they are collected
    path.write_bytes(source)
    fails = bool(tests and failed(level, tests))
    shutil.copy(ROOT / path, path)
    print(f"{level if fails else '':9} {change}", flush=True)
    return fails


def main() -> None:
    seed, count, *areas = sys.argv[1:]
    every = [mutant for area in areas or AREAS for mutant in mutants(area)]
    left = random.Random(int(seed)).sample(every, min(int(count), len(every)))
    print(f"{len(left)} of {len(every)} changes, seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(None, None, enter_copy, (folder,)) as pool:
        for level in MARKS:
            drawn = sorted({area for area, *_ in left})
            ran = dict(zip(drawn, pool.map(partial(tests_by_line, level), drawn), strict=True))
            noticed = list(pool.map(partial(is_noticed, level, ran), left))
            print(f"of {len(left)}: {sum(noticed)} noticed by the {level} tests", flush=True)
            left = [mutant for mutant, by_test in zip(left, noticed, strict=True) if not by_test]


if __name__ == "__main__":
    main()
