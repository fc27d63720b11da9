"""Lines on logarithmic axes as SVG, the same bytes for the same figures.

This is no plotting library because those are large, write other bytes with every version, and have no pictures that
follow a reader's dark page.
"""

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10
from typing import Final

Points = Sequence[tuple[float, float]]
WIDTH: Final = 820
HEIGHT: Final = 400
LEFT: Final = 70
TOP: Final = 40
RIGHT: Final = 470
BOTTOM: Final = 350
COLOURS: Final = ("#2f7fd1", "#d1603d", "#2f9e58", "#a05fc4", "#b58900", "#d14a8b", "#7a8288")
DASHES: Final = ("none", "7 3", "2 3", "9 3 2 3", "12 4", "4 4", "1 4")
STYLE: Final = (
    "text{font:12px sans-serif;fill:#24292f}.title{font-weight:bold}.grid{stroke:#8886;stroke-width:.6}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}}"
)


def plot(title: str, across: str, up: str, series: Mapping[str, Points]) -> str:
    """Return a picture of lines; points at 0 are left out, because a logarithmic axis has no 0."""
    kept = {name: [(x, y) for x, y in points if x > 0 and y > 0] for name, points in series.items()}
    xs = [x for points in kept.values() for x, _ in points]
    ys = [y for points in kept.values() for _, y in points]
    x_low, x_high, y_low, y_high = log10(min(xs)), log10(max(xs)), floor(log10(min(ys))), ceil(log10(max(ys)))
    y_high = max(y_high, y_low + 1)

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            round(LEFT + (log10(x) - x_low) / ((x_high - x_low) or 1) * (RIGHT - LEFT), 1),
            round(BOTTOM - (log10(y) - y_low) / (y_high - y_low) * (BOTTOM - TOP), 1),
        )

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
        f'<text class="title" x="{LEFT}" y="20">{escape(title)}</text>',
        f'<text x="{LEFT}" y="{BOTTOM + 38}">{escape(across)}</text>',
        f'<text transform="translate(14 {BOTTOM}) rotate(-90)">{escape(up)}</text>',
    ]
    for x in sorted(set(xs)) if len(set(xs)) <= 8 else [x for x in sorted(set(xs)) if log10(x) % 1 == 0]:
        place, _ = at(x, 10**y_low)
        lines.append(f'<path class="grid" d="M{place} {TOP}V{BOTTOM}"/>')
        lines.append(f'<text x="{place}" y="{BOTTOM + 16}" text-anchor="middle">{_short(x)}</text>')
    for power in range(y_low, y_high + 1):
        _, place = at(min(xs), 10**power)
        lines.append(f'<path class="grid" d="M{LEFT} {place}H{RIGHT}"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{place + 4}" text-anchor="end">{_short(10**power)}</text>')
    for number, (name, points) in enumerate(kept.items()):
        stroke = f'stroke="{COLOURS[number]}" stroke-width="2" stroke-dasharray="{DASHES[number]}" fill="none"'
        points_text = " ".join(f"{x} {y}" for x, y in (at(*point) for point in points))
        key = TOP + 12 + 22 * number
        lines.append(f'<path {stroke} d="M{points_text}"/>' if points_text else "")
        lines.append(f'<path {stroke} d="M{RIGHT + 16} {key}h26"/>')
        lines.append(f'<text x="{RIGHT + 48}" y="{key + 4}">{escape(name)}</text>')
    return "\n".join([*filter(None, lines), "</svg>"]) + "\n"


def _short(number: float) -> str:
    for size, letter in ((1_000_000, " M"), (1_000, " k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return f"{number:g}"
