"""Reads a recording, GPX or FIT: `python3 track.py run.fit club-berlin ada` prints an event for each activity in it.

`pip install gpxpy fitdecode`. Distance and time are without pauses: of GPX those within the segments, of FIT what the
device says of each session. The instant is the start, in UTC, never the local time of the watch.
"""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import fitdecode
import gpxpy


def activities(file: Path) -> Iterator[tuple[datetime, float, float]]:
    """Yield start, metres and seconds of each activity."""
    if file.suffix == ".gpx":
        for track in gpxpy.parse(file.read_text(encoding="utf-8-sig")).tracks:
            segments = [segment for segment in track.segments if segment.points]
            if not segments or any(point.time is None for segment in segments for point in segment.points):
                print(f"{file}: track {track.name!r} is left out: it has no times", file=sys.stderr)
                continue
            pairs = [pair for segment in segments for pair in pairwise(segment.points)]
            seconds = sum((after.time - before.time).total_seconds() for before, after in pairs)
            yield segments[0].points[0].time, sum(segment.length_2d() for segment in segments), seconds
        return
    with fitdecode.FitReader(file) as frames:
        for frame in frames:
            if isinstance(frame, fitdecode.FitDataMessage) and frame.name == "session":
                yield tuple(frame.get_value(name) for name in ("start_time", "total_distance", "total_timer_time"))


def event(board: str, member: str, start: datetime, metres: float, seconds: float) -> dict[str, Any]:
    """Return the event of an activity. Its start is its id: the same activity in another file counts once."""
    at = start.astimezone(UTC).isoformat()
    metrics = {"metres": round(metres, 1), "seconds": round(seconds, 1)}
    return {"id": f"{board}/{member}/{at}", "at": at, "board": board, "member": member, "metrics": metrics}


if __name__ == "__main__":
    for activity in activities(Path(sys.argv[1])):
        print(json.dumps(event(*sys.argv[2:], *activity)))
