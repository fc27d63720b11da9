#!/usr/bin/env bash
# Of two segments of a GPX track, two readers leave out the way between them, and two readers add it to the distance.
#
# Matters to: whoever posts distances from GPX files. A recorder begins a new segment after a pause or a loss of
# reception, and nobody ran the way between two segments. One file gives 2.0 km in Python and 12.0 km in JavaScript.
# Versions: PyPI gpxpy 1.6.2 and gpx 2026.4.0; npm gpxparser 3.0.8 and @we-gold/gpxjs 1.2.0 with @xmldom/xmldom 0.9.12.
# Seen: two segments of 1 km each, 10 km apart. gpxpy and gpx say 2.0 km, gpxparser and gpxjs say 12.0 km.
# Source: https://www.topografix.com/GPX/1/1/ (trksegType: points that are logically connected in order)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check gpxpy==1.6.2 gpx==2026.4.0
npm install --silent --no-fund --no-audit --no-save gpxparser@3.0.8 @we-gold/gpxjs@1.2.0 @xmldom/xmldom@0.9.12
cat >run.gpx <<'GPX'
<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="sample" xmlns="http://www.topografix.com/GPX/1/1">
  <trk>
    <trkseg>
      <trkpt lat="50.000" lon="8.0"><ele>100</ele><time>2026-05-01T08:00:00Z</time></trkpt>
      <trkpt lat="50.009" lon="8.0"><ele>100</ele><time>2026-05-01T08:05:00Z</time></trkpt>
    </trkseg>
    <trkseg>
      <trkpt lat="50.099" lon="8.0"><ele>100</ele><time>2026-05-01T09:00:00Z</time></trkpt>
      <trkpt lat="50.108" lon="8.0"><ele>100</ele><time>2026-05-01T09:05:00Z</time></trkpt>
    </trkseg>
  </trk>
</gpx>
GPX
env/bin/python - <<'PYTHON' | tee seen
import gpx
import gpxpy

with open("run.gpx") as file:
    print(f"gpxpy: {gpxpy.parse(file).length_2d() / 1000:.1f} km")
print(f"gpx: {gpx.read_gpx('run.gpx').trk[0].total_distance / 1000:.1f} km")
PYTHON
cat >run.mjs <<'NODE'
import { readFileSync } from "node:fs";
import { DOMParser } from "@xmldom/xmldom";
import { parseGPXWithCustomParser } from "@we-gold/gpxjs";
import GpxParser from "gpxparser";

const text = readFileSync("run.gpx", "utf8");
const parser = new GpxParser();
parser.parse(text);
console.log(`gpxparser: ${(parser.tracks[0].distance.total / 1000).toFixed(1)} km`);
const [parsed] = parseGPXWithCustomParser(text, (xml) => new DOMParser().parseFromString(xml, "text/xml"));
console.log(`gpxjs: ${(parsed.tracks[0].distance.total / 1000).toFixed(1)} km`);
NODE
node run.mjs | tee -a seen
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
gpxpy: 2.0 km
gpx: 2.0 km
gpxparser: 12.0 km
gpxjs: 12.0 km
EXPECTED
echo "as it was found"
