"""Writes the results of benchmarks and the pages that show them.

A full run writes `benchmarks/results` and the pages. A small run (`--size small`) shows that everything works: it
writes the same files below `.local/bench`, and changes no page of the repository.
"""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

REPOSITORY: Final = Path(__file__).parents[2]
APART: Final = REPOSITORY / ".local" / "bench"
SIZES: Final = ("full", "small")


class Output:
    """The results, pages and pictures of a run of one size."""

    def __init__(self, *, small: bool = False, root: Path | None = None) -> None:
        self.small = small
        self._root = root or (APART if small else REPOSITORY)

    def keep(self, name: str, result: dict[str, Any]) -> None:
        self.place(f"benchmarks/results/{name}.json").write_text(_one_record_a_line(result) + "\n", encoding="utf-8")

    def result(self, name: str) -> dict[str, Any]:
        """Read a benchmark's result; FileNotFoundError if it has not run in this size yet."""
        content: dict[str, Any] = json.loads((self._root / f"benchmarks/results/{name}.json").read_text("utf-8"))
        return content

    def table(self, page: str, name: str, command: str, lines: Iterable[str]) -> None:
        """Write lines between the marks of that name in a page; LookupError if the page has no such marks."""
        place = self.place(page)
        if not place.exists():
            shutil.copyfile(REPOSITORY / page, place)
        begin, end = f"<!-- {name}: written by `{command}` -->\n", f"<!-- /{name} -->"
        before, opened, rest = place.read_text(encoding="utf-8").partition(begin)
        _, closed, after = rest.partition(end)
        if not opened or not closed:
            raise LookupError(f"expected {begin.strip()} and {end} in {page}, found none")
        place.write_text(before + begin + "\n".join(lines) + "\n" + end + after, encoding="utf-8")

    def place(self, path: str) -> Path:
        """Return where to write a file of the repository; create its folder."""
        place = self._root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        return place


def _one_record_a_line(value: Any, indent: str = "") -> str:
    """JSON with a line for each record: for what holds no further objects and lists."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not any(isinstance(part, dict | list) for part in parts):
        return json.dumps(value)
    names = [f"{json.dumps(name)}: " for name in value] if isinstance(value, dict) else [""] * len(value)
    inner = indent + "  "
    lines = [f"{inner}{name}{_one_record_a_line(part, inner)}" for name, part in zip(names, parts, strict=True)]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([first, ",\n".join(lines), f"{indent}{last}"])
