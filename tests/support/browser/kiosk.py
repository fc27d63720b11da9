"""Where everything is on a kiosk, and how large its letters are."""

from typing import Any, Final

from tests.support.browser.live_page import Shown

LEAST_CAPITALS: Final = 0.022
"""The least height of a capital letter, as a part of the screen's height."""
FIVE_METRES: Final = 0.034
"""That of a capital letter which can be read from five metres on a screen that is wider than high."""
CAPITALS: Final = """() => {
    const read = "#title, #facts span, #state, #podium strong, .points, .step, " +
        "#rows td, #rows button, #rows .remark, #wrong :is(h2, p, a), #note, #empty";
    const pen = document.createElement("canvas").getContext("2d"), found = {};
    for (const one of document.querySelectorAll(read)) {
        const style = getComputedStyle(one);
        if (style.visibility === "hidden" || !one.textContent) continue;
        pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
        const part = pen.measureText("H").actualBoundingBoxAscent / innerHeight;
        found[one.closest("[id]").id + " " + one.className] = part;
    }
    return found;
}"""
LAID_OUT: Final = """() => {
    const boxes = (all, is = () => true) => [...document.querySelectorAll(all)].filter(is).map(one => {
        const {top, bottom, left, right} = one.getBoundingClientRect();
        return {top, bottom, left, right};
    });
    const painted = name => {
        const {left, right, top, height} = name.getBoundingClientRect();
        return [left + 1, right - 1].every(x => document.elementFromPoint(x, top + height / 2) === name);
    };
    const hidden = row => getComputedStyle(row).visibility === "hidden", page = document.documentElement;
    return {
        rows: boxes("#rows tr", row => !hidden(row)), hidden: boxes("#rows tr", hidden).length,
        list: boxes("section:has(#rows)")[0],
        cells: boxes("#rows td.who"), names: boxes("#rows td.who button"),
        left_out: [...document.querySelectorAll("#rows td.who button")]
            .filter(name => !hidden(name) && !painted(name)).map(name => name.textContent),
        header: boxes("header")[0], steps: boxes("#podium li"),
        parts: boxes("#podium li > *, #title, #facts, #state"), size: [page.scrollWidth, page.scrollHeight],
    };
}"""


def laid_out(shown: Shown) -> dict[str, Any]:
    """Wait until the list is full, see that all of it is on the screen, and return where everything is."""
    size = shown.page.viewport_size
    assert size is not None
    shown.until(lambda: shown.page.evaluate(LAID_OUT)["hidden"] > 0, "more rows than fit")
    found: dict[str, Any] = shown.page.evaluate(LAID_OUT)
    assert found["size"] == [size["width"], size["height"]]
    for one in [*found["rows"], *found["steps"], *found["parts"]]:
        assert one["top"] >= 0
        assert one["left"] >= 0
        assert one["bottom"] <= size["height"]
        assert one["right"] <= size["width"] + 1
    for one in found["rows"]:
        assert one["bottom"] <= found["list"]["bottom"] + 1
    # A name that is too long is cut, never left out.
    for cell, name in zip(found["cells"], found["names"], strict=True):
        assert name["right"] <= cell["right"] + 1
    assert found["left_out"] == []
    # No further row would fit.
    assert found["list"]["bottom"] - found["rows"][-1]["bottom"] < found["rows"][0]["bottom"] - found["rows"][0]["top"]
    assert min(one["top"] for one in found["steps"]) >= found["header"]["bottom"] - 1
    return found
