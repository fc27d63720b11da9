#!/usr/bin/env bash
# A clone of a GPX track has other instants than the track itself, if its times have an offset west of Greenwich.
#
# Matters to: whoever posts instants from GPX files and clones a track to simplify or smooth it first. An activity near
# midnight then counts on another day. Times in UTC, and those east of Greenwich, stay as they are.
# Versions: PyPI gpxpy 1.6.2.
# Seen: 10:00-05:00 is 15:00 UTC when read, and 10:00 UTC in a clone; 10:00-03:30 is 13:30, and 10:30 in a clone.
# Source: https://github.com/tkrajina/gpxpy/blob/dev/gpxpy/gpxfield.py (SimpleTZ writes an offset that it reads
# otherwise)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check gpxpy==1.6.2
env/bin/python - <<'PYTHON' | tee seen
from datetime import timezone

import gpxpy

HEAD = '<gpx version="1.1" creator="sample" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg><trkpt lat="50" lon="8"><time>'
TAIL = "</time></trkpt></trkseg></trk></gpx>"


def instant(track):
    time = track.tracks[0].segments[0].points[0].time
    return time.astimezone(timezone.utc).strftime("%H:%M")


for text in ("10:00:00Z", "10:00:00+05:30", "10:00:00-05:00", "10:00:00-03:30"):
    track = gpxpy.parse(f"{HEAD}2026-05-01T{text}{TAIL}")
    print(f"{text}: read {instant(track)}, in a clone {instant(track.clone())}")
PYTHON
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
10:00:00Z: read 10:00, in a clone 10:00
10:00:00+05:30: read 04:30, in a clone 04:30
10:00:00-05:00: read 15:00, in a clone 10:00
10:00:00-03:30: read 13:30, in a clone 10:30
EXPECTED
echo "as it was found"
