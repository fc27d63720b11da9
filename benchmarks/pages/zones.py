"""Which time zones have other rules than a year ago, and on which days midnight is skipped or comes twice.

`python -m benchmarks zones` writes both tables into `docs/how-to/when-zones-change.md`, from two pinned releases of the
package tzdata: the layer's, and the one in `requirements/older-zones.txt`.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta, tzinfo
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo  # noqa: TID251 - the older release's zones, which the product never uses

import tzdata

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.results_file import REPOSITORY, Output
from benchmarks.pages.tables import Result, Table
from standings.domain.zones import VERSION, names, time_zone

PAGE: Final = "docs/how-to/when-zones-change.md"
YEAR: Final = int(VERSION[:4])
"""The year of the layer's release, so that the tables do not depend on the day on which they are written."""
_OLDER: Final = REPOSITORY / ".local" / "tools" / "older-zones"
_NEWER: Final = Path(tzdata.__file__).with_name("zoneinfo")
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_FIRST, _END = datetime(YEAR, 1, 1, tzinfo=UTC), datetime(YEAR + 1, 1, 1, tzinfo=UTC)
_NONE: Final[tuple[timedelta | None, timedelta | None]] = (None, None)


def older_files() -> Path:
    """Return the folder of the older release's zone files, which are as those of a system."""
    if found := next(_OLDER.glob("lib/python3*/site-packages/tzdata/zoneinfo"), None):
        return found
    raise FileNotFoundError(f"expected the older release of tzdata in {_OLDER}, found none: run `make setup`")


def unavailable() -> str | None:
    return None if _OLDER.exists() else "the older release of tzdata is missing: run `make setup`"


def measure(_: Output) -> dict[str, Any]:
    older = older_files()
    version = (older / "tzdata.zi").read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# version ")
    return {"older": version, "changed": list(changed(older)), "midnights": list(midnights())}


def changed(older: Path) -> Iterator[dict[str, Any]]:
    """Yield the spans of the year in which some zones have another offset than by the older files."""
    found: dict[tuple[str, ...], list[str]] = {}
    for (before, now), zones in _alike(older, _NEWER).items():
        if before not in (b"", now):  # Else the zone is new, or none of its rules is.
            for span in differences(ZoneInfo.from_file(BytesIO(before)), time_zone(zones[0])):
                found.setdefault(span, []).extend(zones)
    for (first, until, before_, now_), zones in sorted(found.items(), key=lambda one: (min(one[1]), one[0])):
        yield {"zones": sorted(zones), "first": first, "until": until, "before": before_, "now": now_}


def differences(older: tzinfo, newer: tzinfo) -> Iterator[tuple[str, ...]]:
    """Yield the spans of the year in which two zones differ: the start and the end in UTC, and both offsets."""
    since, offsets = _FIRST, _NONE
    for hour in range((_END - _FIRST) // _HOUR + 1):
        at = _FIRST + hour * _HOUR
        now = _NONE if at == _END else (at.astimezone(older).utcoffset(), at.astimezone(newer).utcoffset())
        if now != offsets:
            if offsets[0] != offsets[1]:
                yield (
                    *(one.isoformat(" ")[:16] for one in (since, at)),
                    *(_offset(since, zone) for zone in (older, newer)),
                )
            since, offsets = at, now


def midnights() -> Iterator[dict[str, Any]]:
    """Yield the days of this year and the next that have no midnight, or two, in some zones."""
    found: dict[tuple[date, int], list[str]] = {}
    days = [_FIRST.replace(tzinfo=None) + number * _DAY for number in range((_END.replace(YEAR + 2) - _FIRST).days)]
    for zones in _alike(_NEWER).values():
        for day in days:
            if (count := len(instants(day, time_zone(zones[0])))) != 1:
                found.setdefault((day.date(), count), []).extend(zones)
    for (on, count), zones in sorted(found.items()):
        yield {"day": str(on), "midnights": count, "zones": sorted(zones)}


def instants(clock: datetime, zone: tzinfo) -> set[datetime]:
    """Return the instants at which the clocks of a zone show a time: one, none or two."""
    both = {clock.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    return both if len(both) == 1 else {at for at in both if at.astimezone(zone).replace(tzinfo=None, fold=0) == clock}


def _alike(*folders: Path) -> Mapping[tuple[bytes, ...], list[str]]:
    """Return the names of zones by the content of their files, which is empty where there is none."""
    found: dict[tuple[bytes, ...], list[str]] = {}
    for name in sorted(names()):
        files = [folder / name for folder in folders]
        found.setdefault(tuple(file.read_bytes() if file.is_file() else b"" for file in files), []).append(name)
    return found


def _offset(at: datetime, zone: tzinfo) -> str:
    """Return a zone's offset from UTC at an instant, such as `-07:00`."""
    return at.astimezone(zone).isoformat()[-6:]


def of_changed(result: Result) -> Iterator[str]:
    head = f"zones | from (UTC) | until | offset by {result['older']} | by {VERSION}"
    return Table(head, "{names} | {first} | {until} | {before} | {now}", lambda _: _named(result["changed"]))(result)


def of_midnights(result: Result) -> Iterator[str]:
    rows = ({**row, "count": "two" if row["midnights"] else "none"} for row in result["midnights"])
    return Table("day | midnights | zones", "{day} | {count} | {names}", lambda _: _named(rows))(result)


def _named(rows: Any) -> Iterator[dict[str, Any]]:
    return ({**row, "names": ", ".join(f"`{name}`" for name in row["zones"])} for row in rows)


BENCHMARK: Final = Benchmark(
    "zones",
    measure,
    {PAGE: {"changed": of_changed, "midnights": of_midnights}},
    command="make zones",
    unavailable=unavailable,
    kept=False,
)
"""The result is computed again whenever the tables are compared: it takes a second, and depends on pins alone."""
