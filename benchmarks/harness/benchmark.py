"""A benchmark: how its result is measured, and where pages show it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from benchmarks.harness.results_file import Output
from benchmarks.pages.tables import Lines

Result = dict[str, Any]


class Benchmark(NamedTuple):
    """A result by its name, and its tables by page and by the name that stands in the page's marks.

    `measure` returns the result, of a full or a small run. Without it the committed result stays, and only pages are
    written. With `kept`, the result is written to a file.
    """

    name: str
    measure: Callable[[Output], Result] | None
    tables: Mapping[str, Mapping[str, Lines]]
    command: str = "make bench"
    pictures: Callable[[Result], Mapping[str, str]] = lambda _: {}
    unavailable: Callable[[], str | None] = lambda: None
    """Returns why it cannot run on this machine, None if it can."""
    kept: bool = True

    def run(self, out: Output) -> None:
        result = self.measure(out) if self.measure else self.committed()
        if self.kept:
            out.keep(self.name, result)
        self.show(out, result)

    def committed(self) -> Result:
        return Output().result(self.name) if self.kept or not self.measure else self.measure(Output())

    def show(self, out: Output, result: Result) -> None:
        for page, tables in self.tables.items():
            for mark, lines in tables.items():
                out.table(page, mark, self.command, lines(result))
        for path, svg in self.pictures(result).items():
            out.place(path).write_text(svg, encoding="utf-8")
