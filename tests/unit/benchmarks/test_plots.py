from xml.etree import ElementTree as ET

from benchmarks.pages.plots import COLOURS, DASHES, plot

SVG = "{http://www.w3.org/2000/svg}"


def test_a_picture_is_well_formed_and_always_the_same() -> None:
    series = {"flat <1>": [(1_000, 3.0), (1_000_000, 3.0)], "growing": [(1_000, 4.0), (1_000_000, 3_000.0)]}
    picture = plot("A & B", "members", "units", series)
    root = ET.fromstring(picture)  # noqa: S314 - our own
    texts = [text.text for text in root.iter(f"{SVG}text")]

    assert plot("A & B", "members", "units", series) == picture
    assert {"A & B", "members", "units", "flat <1>", "growing", "1 k", "1 M", "10 k"} <= set(texts)
    assert "prefers-color-scheme:dark" in picture


def test_both_axes_are_logarithmic() -> None:
    root = ET.fromstring(plot("", "", "", {"line": [(1, 1), (10, 10), (100, 100), (7, 0)]}))  # noqa: S314
    line = next(path.get("d", "") for path in root.iter(f"{SVG}path") if path.get("stroke"))
    numbers = [float(one) for one in line.removeprefix("M").split()]
    steps = [(numbers[n + 2] - numbers[n], numbers[n + 3] - numbers[n + 1]) for n in (0, 2)]

    assert len(numbers) == 6
    assert steps[0] == steps[1]


def test_each_line_looks_different() -> None:
    assert len(set(COLOURS)) == len(set(DASHES)) == len(COLOURS)
