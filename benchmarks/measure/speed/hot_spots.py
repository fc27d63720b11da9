"""Where the time of a function goes: its share by package, and the functions of ours that take most of it."""

import cProfile
import pstats
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.harness import population
from benchmarks.harness.results_file import REPOSITORY
from benchmarks.measure.speed import batches
from benchmarks.measure.speed.handlers import Transport, load, run

_LAYER: Final = REPOSITORY / "layers" / "standings" / "standings"
_FUNCTIONS: Final = REPOSITORY / "functions"
_MOST: Final = 8


def profile(function: str, level: str, members: int, count: int) -> dict[str, Any]:
    """Run `count` batches under Python's profiler, after as many without it.

    The time of a built-in function goes to its caller. The profiler makes many small calls look slower than they are.
    """
    app = load(function, population.BOARDS, Transport() if level == "botocore" else None, one_thread=True)
    all_batches = batches.batches(function, population.BOARDS, members, batches.BATCH, 2 * count)
    run(app, all_batches[:count])
    profiler = cProfile.Profile()
    profiler.runcall(run, app, all_batches[count:])
    shares: dict[str, float] = {}
    ours: dict[str, float] = {}
    for key, (_, _, own, _, callers) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
        for (file, _, name), seconds in _payers(key, own, callers):
            package = _package(file, name)
            shares[package] = shares.get(package, 0.0) + seconds
            module = _module(file)
            if module is not None:
                place = f"{module}.{name}"
                ours[place] = ours.get(place, 0.0) + seconds
    whole = sum(shares.values())
    most = sorted(ours, key=lambda name: -ours[name])[:_MOST]
    return {
        "function": function,
        "level": level,
        "shares": {name: round(shares[name] / whole, 3) for name in sorted(shares, key=lambda name: -shares[name])},
        "most": {name: round(ours[name] / whole, 3) for name in most},
    }


def _payers(key: tuple[str, int, str], own: float, callers: Mapping[Any, Any]) -> Iterator[tuple[Any, float]]:
    """Yield the functions that a function's own seconds are attributed to: file, line and name, and the seconds."""
    if key[0] != "~" or "orjson" in key[2] or not callers:
        yield key, own
        return
    for caller, (_, _, seconds, _) in callers.items():
        yield caller, seconds


def _module(file: str) -> str | None:
    """Return a module of the layer by its dotted name below `standings`, None for all other files."""
    path = Path(file)
    return ".".join(path.relative_to(_LAYER).with_suffix("").parts) if path.is_relative_to(_LAYER) else None


def _package(file: str, name: str) -> str:
    if "orjson" in name:
        return "orjson"
    module = _module(file)
    if module is not None:
        return module.partition(".")[0]
    if Path(file).is_relative_to(_FUNCTIONS):
        return "functions"
    parts = Path(file).parts
    if "site-packages" in parts:
        package = parts[parts.index("site-packages") + 1]
        return "botocore" if package in {"jmespath", "urllib3", "dateutil"} else package
    return "Python's library" if "benchmarks" not in parts else "stub"
