"""Time zones: all come from the package tzdata that the layer brings, whatever zone files the system has.

`zoneinfo.ZoneInfo(name)` reads the system's files first. They may be older or newer than the layer's, so the same
instant would be on one day in a function and on another in a program that uses the client.
"""

from datetime import tzinfo
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from zoneinfo import ZoneInfo


def time_zone(name: str) -> tzinfo:
    """The time zone with an IANA name, such as `Europe/Berlin`; the same object for the same name.

    Raises ValueError for any other name: unknown, in other letters, or a path. It neither uses nor changes the cache of
    `zoneinfo.ZoneInfo`, nor where that looks for files.
    """
    if not isinstance(name, str) or name not in names():
        raise ValueError(f'expected an IANA time zone such as "Europe/Berlin", got {name!r:.80}')
    return _read(name)


def of_system(file: Path = Path("/usr/share/zoneinfo/tzdata.zi")) -> str | None:
    """The version of the system's own zone files, `2025b`, which nothing here reads; None if they do not say one."""
    try:
        with file.open(encoding="utf-8") as lines:
            first = lines.readline()
    except OSError:
        return None
    return first.removeprefix("# version ").strip() if first.startswith("# version ") else None


@cache
def names() -> frozenset[str]:
    """The names of all zones, such as `Europe/Berlin`. No other text becomes part of a file's path."""
    return frozenset(_file("zones").decode().split())


def _package() -> ModuleType:
    """The tzdata next to this package, as in the layer. Another may come first on the path: a function's own."""
    spec = PathFinder.find_spec("tzdata", [str(Path(__file__).parents[2])])
    if spec is None or spec.loader is None:
        return import_module("tzdata")
    beside = module_from_spec(spec)
    spec.loader.exec_module(beside)
    return beside


_TZDATA: Final = _package()
VERSION: Final[str] = _TZDATA.IANA_VERSION  # Of the IANA database whose rules all zones follow, such as `2026f`


class _Zone(ZoneInfo):
    """A zone that copies and pickles by its name, which a `ZoneInfo` made from a file does not."""

    def __reduce__(self) -> tuple[Any, ...]:
        return time_zone, (self.key,)


@cache
def _read(name: str) -> _Zone:
    return _Zone.from_file(BytesIO(_file(f"zoneinfo/{name}")), key=name)


def _file(name: str) -> bytes:
    """A file of the package, which may be in a folder or in an archive."""
    loader: Any = _TZDATA.__loader__
    content: bytes = loader.get_data(f"{_TZDATA.__path__[0]}/{name}")
    return content
