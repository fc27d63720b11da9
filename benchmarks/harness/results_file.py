"""Writes the results of benchmarks and the pages that show them.

A full run writes `benchmarks/results` and the pages. A small run (`--size small`) shows that everything works: it
writes the same files below `.local/bench`, and changes no page of the repository.
"""

import argparse
import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.pages import marked

REPOSITORY: Final = Path(__file__).parents[2]
APART: Final = REPOSITORY / ".local" / "bench"
SIZES: Final = ("full", "small")


class Output:
    """The results, pages and pictures of a run of one size."""

    def __init__(self, *, small: bool = False, root: Path | None = None) -> None:
        self.small = small
        self._root = root or (APART if small else REPOSITORY)

    def publish(
        self,
        name: str,
        result: dict[str, Any],
        page: str,
        command: str,
        tables: Mapping[str, Callable[[Any], Iterable[str]]],
        pictures: Mapping[str, str] | None = None,
    ) -> None:
        """Write a benchmark's result, its tables into its page, and its pictures."""
        self.keep(name, result)
        for mark, lines in tables.items():
            self.table(page, mark, command, lines(result))
        for path, svg in (pictures or {}).items():
            self.picture(path, svg)

    def keep(self, name: str, result: dict[str, Any]) -> None:
        """Write a benchmark's result to `benchmarks/results/NAME.json`."""
        self.place(f"benchmarks/results/{name}.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")

    def result(self, name: str) -> dict[str, Any]:
        """Read a benchmark's result; FileNotFoundError if it has not run in this size yet."""
        content: dict[str, Any] = json.loads(self._at(f"benchmarks/results/{name}.json").read_text(encoding="utf-8"))
        return content

    def table(self, page: str, name: str, command: str, lines: Iterable[str]) -> None:
        """Write lines between the marks of that name in a page; LookupError if the page has no such marks."""
        place = self.place(page)
        if not place.exists():
            shutil.copyfile(REPOSITORY / page, place)
        marked.write(place, name, command, lines)

    def picture(self, path: str, svg: str) -> None:
        """Write a picture to this path of the repository."""
        self.place(path).write_text(svg, encoding="utf-8")

    def _at(self, path: str) -> Path:
        return self._root / path

    def place(self, path: str) -> Path:
        """Return where to write a file of the repository; create its folder."""
        place = self._at(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place


def output(arguments: Sequence[str], description: str | None) -> Output:
    """Parse a benchmark's command line; return the output of that size."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--size", choices=SIZES, default=SIZES[0], help="small writes below .local/bench only")
    return Output(small=parser.parse_args(arguments).size == "small")
