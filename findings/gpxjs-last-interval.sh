#!/usr/bin/env bash
# gpxjs ends a track at its last point but one, so the duration lacks the last interval.
#
# Matters to: whoever posts times from GPX files. The fewer points a watch saves, the more is missing, and a sort by
# time is wrong between two recorders. The distance of the same track has the whole way, so the pace is too fast.
# Versions: npm @we-gold/gpxjs 1.2.0 with @xmldom/xmldom 0.9.12; PyPI gpxpy 1.6.2.
# Seen: four points, 30 seconds apart. gpxpy says 90 seconds; gpxjs says 60, and an end of 08:01:00 instead of 08:01:30.
# Source: https://github.com/We-Gold/gpxjs (README: startTime, endTime and totalDuration of a track)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check gpxpy==1.6.2
npm install --silent --no-fund --no-audit --no-save @we-gold/gpxjs@1.2.0 @xmldom/xmldom@0.9.12
cat >run.gpx <<'GPX'
<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="sample" xmlns="http://www.topografix.com/GPX/1/1">
  <trk>
    <trkseg>
      <trkpt lat="50.000" lon="8.0"><ele>100</ele><time>2026-05-01T08:00:00Z</time></trkpt>
      <trkpt lat="50.001" lon="8.0"><ele>100</ele><time>2026-05-01T08:00:30Z</time></trkpt>
      <trkpt lat="50.002" lon="8.0"><ele>100</ele><time>2026-05-01T08:01:00Z</time></trkpt>
      <trkpt lat="50.003" lon="8.0"><ele>100</ele><time>2026-05-01T08:01:30Z</time></trkpt>
    </trkseg>
  </trk>
</gpx>
GPX
env/bin/python - <<'PYTHON' | tee seen
import gpxpy

with open("run.gpx") as file:
    track = gpxpy.parse(file).tracks[0]
print(f"gpxpy: {track.length_2d():.0f} m in {track.get_duration():.0f} s until {track.get_time_bounds().end_time:%H:%M:%S}")
PYTHON
cat >run.mjs <<'NODE'
import { readFileSync } from "node:fs";
import { DOMParser } from "@xmldom/xmldom";
import { parseGPXWithCustomParser } from "@we-gold/gpxjs";

const read = (xml) => new DOMParser().parseFromString(xml, "text/xml");
const [{ tracks: [{ distance, duration }] }] = parseGPXWithCustomParser(readFileSync("run.gpx", "utf8"), read);
const end = duration.endTime.toISOString().slice(11, 19);
console.log(`gpxjs: ${distance.total.toFixed(0)} m in ${duration.totalDuration} s until ${end}`);
NODE
node run.mjs | tee -a seen
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
gpxpy: 334 m in 90 s until 08:01:30
gpxjs: 334 m in 60 s until 08:01:00
EXPECTED
echo "as it was found"
