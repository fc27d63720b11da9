"""Draw small changes of the product, and run each against the tests of its area: `make mutants SEED=1 N=200`.

A change that passes the area's tests of `make test` (quick) meets its thorough tests. Some changes alter nothing that
anybody can see, so no share is 100 %: compare it with the share of the same seed at another commit.
"""

import ast
import copy
import itertools
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BLOCK = "tests/faults/test_schedules.py::test_every_ranking_is_right_whatever_goes_wrong"
SCHEDULES = [f"{BLOCK}[seeds-{seeds}]" for seeds in ("0-19", "200-249")]
AREAS = {
    "domain": ["tests/unit/domain", "tests/properties", "tests/functions/write", "tests/functions/seasons",
               "tests/functions/read/test_counts_in_motion.py", *SCHEDULES],
    "write": ["tests/unit/write", "tests/functions/test_handlers.py", "tests/functions/write", *SCHEDULES],
    "project": ["tests/functions/project", *SCHEDULES],
    "read": ["tests/functions/profiles", "tests/functions/seasons", "tests/functions/http", "tests/functions/read"],
    "maintain": ["tests/functions/maintain", "tests/functions/announce/test_upkeep.py"],
    "functions": ["tests/functions/test_handlers.py", "tests/functions/http", "tests/functions/read/test_caching.py"],
}  # fmt: skip
"""The tests that know an area best. Of schedules, some of `make test` and some of `make test-all`."""
MARKS = {"quick": "not thorough", "thorough": "thorough"}
PAIRS: list[tuple[Any, Any]] = [
    (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn),
    (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv), (ast.And, ast.Or), (ast.Continue, ast.Break),
]  # fmt: skip
SWAPPED = dict(PAIRS) | {new: old for old, new in PAIRS}
RENAMED = {"min": "max", "max": "min", "any": "all", "all": "any"}
SHARED = (".venv", ".local")
PLACE = ("lineno", "col_offset", "end_lineno", "end_col_offset")
TEXTS = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)

Mutant = tuple[str, Path, str, bytes]
"""The area of a change, its module, what it says to people, and the module's changed source."""


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
        case ast.Name(id=name, ctx=ast.Load()) if name in RENAMED:
            new.id = RENAMED[name]
        case ast.Expr(value=ast.Call()):
            new = ast.Pass()
        case ast.Continue() | ast.Break():
            new = SWAPPED[type(node)]()
        case _:
            return None
    return ast.unparse(new) if isinstance(new, ast.stmt | ast.Name | ast.Constant) else f"({ast.unparse(new)})"


def changes(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield each node in a tree that can be changed, with its changed source. Texts and types stay as they are."""
    if isinstance(node, TEXTS) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
        return
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield node.test, f"(not ({ast.unparse(node.test)}))"
    if (new := changed(node)) is not None:
        yield node, new
    for name, value in ast.iter_fields(node):
        if name not in {"annotation", "returns", "decorator_list"}:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from changes(child)


def mutants(area: str) -> Iterator[Mutant]:
    """Yield every small change of an area's modules."""
    folder = ROOT / "functions" if area == "functions" else ROOT / "layers/standings/standings" / area
    for path in sorted(folder.rglob("*.py")):
        source = path.read_bytes()
        starts = [0, *(at + 1 for at, byte in enumerate(source) if byte == ord("\n"))]
        for node, new in changes(ast.parse(source)):
            line, column, end_line, end_column = (getattr(node, name) for name in PLACE)
            begin, end = starts[line - 1] + column, starts[end_line - 1] + end_column
            change = f"{path.relative_to(ROOT)}:{line}  `{source[begin:end].decode()}` -> `{new}`"
            yield area, path, change, source[:begin] + new.encode() + source[end:]


def failed(checkout: Path, area: str, level: str, limit: float | None) -> str:
    """Run an area's tests in a checkout. Return what they print if one fails or they take too long, else nothing."""
    command = [sys.executable, "-m", "pytest", "-xq", "--hypothesis-seed=0", "-m", MARKS[level], *AREAS[area]]
    try:
        tests = subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired as error:
        return str(error)
    return "" if tests.returncode in {0, 5} else tests.stdout[-3000:]  # 5: no test of the area has the mark


def main() -> None:
    seed, count, *areas = sys.argv[1:]
    every = [mutant for area in areas or AREAS for mutant in mutants(area)]
    drawn = random.Random(int(seed)).sample(every, min(int(count), len(every)))
    print(f"{len(drawn)} of {len(every)} changes, seed {seed}", flush=True)
    checkouts: queue.Queue[Path] = queue.Queue()
    limits: dict[tuple[str, str], float] = {}

    def level(mutant: Mutant) -> str:
        area, path, change, source = mutant
        checkout = checkouts.get()
        file = checkout / path.relative_to(ROOT)
        file.write_bytes(source)
        by = next((each for each in MARKS if failed(checkout, area, each, limits[area, each])), "no test")
        shutil.copy(path, file)
        checkouts.put(checkout)
        print(f"{by:9} {change}", flush=True)
        return by

    with tempfile.TemporaryDirectory(prefix="standings-mutants-") as folder:
        for number in range(os.cpu_count() or 1):
            checkout = Path(folder, str(number))
            shutil.copytree(ROOT, checkout, ignore=shutil.ignore_patterns(".git", *SHARED))
            for name in SHARED:
                (checkout / name).symlink_to(ROOT / name)
            checkouts.put(checkout)
        for area, each in itertools.product(dict.fromkeys(area for area, *_ in drawn), MARKS):
            began = time.monotonic()
            if output := failed(checkout, area, each, None):
                sys.exit(f"the {each} tests of {area} fail without any change:\n{output}")
            limits[area, each] = 60 + 4 * (time.monotonic() - began)
            print(f"{area}, {each}: {time.monotonic() - began:.0f} s without a change", flush=True)
        with ThreadPoolExecutor(checkouts.qsize()) as pool:
            levels = Counter(pool.map(level, drawn))
    print(f"of {len(drawn)}: {levels['quick']} noticed by make test, {levels['thorough']} more by the thorough tests")


if __name__ == "__main__":
    main()
