#!/usr/bin/env bash
# Of a TCX file with a run and a ride, one reader gives the run the ride's distance, another gives one ride of both.
#
# Matters to: whoever posts distance or time from TCX files. The format allows several activities in a file, and a pause
# within one. The readers also mean different things by duration: one adds the laps, the other counts the pauses too.
# Versions: PyPI python-tcxparser 2.4.0, tcxreader 0.4.11.
# Seen: a run of two laps (2 km, 600 s, a pause of 55 minutes), then a ride of 5 km in 900 s on the next day. tcxparser:
# a run of 5 km in 600 s. tcxreader: a ride of 7 km in 87,300 s, from the run's start to the ride's end. The run alone:
# 600 s, 3,900 s.
# Source: https://www8.garmin.com/xmlschemas/TrainingCenterDatabasev2.xsd (ActivityList_t: any number of activities)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check python-tcxparser==2.4.0 tcxreader==0.4.11
env/bin/python - <<'PYTHON' | tee seen
from tcxparser import TCXParser
from tcxreader.tcxreader import TCXReader


def point(time, latitude, metres):
    position = f"<LatitudeDegrees>{latitude}</LatitudeDegrees><LongitudeDegrees>8.0</LongitudeDegrees>"
    return (
        f"<Trackpoint><Time>{time}</Time><Position>{position}</Position><AltitudeMeters>100</AltitudeMeters>"
        f"<DistanceMeters>{metres}</DistanceMeters></Trackpoint>"
    )


def lap(start, seconds, metres, *points):
    return (
        f'<Lap StartTime="{start}"><TotalTimeSeconds>{seconds}</TotalTimeSeconds><DistanceMeters>{metres}</DistanceMeters>'
        f"<Calories>60</Calories><Intensity>Active</Intensity><TriggerMethod>Manual</TriggerMethod>"
        f"<Track>{''.join(points)}</Track></Lap>"
    )


def activity(sport, start, *laps):
    return f'<Activity Sport="{sport}"><Id>{start}</Id>{"".join(laps)}</Activity>'


run, again, ride = "2026-05-01T06:00:00Z", "2026-05-01T07:00:00Z", "2026-05-02T06:00:00Z"
first = lap(run, 300, 1000, point(run, 50.000, 0), point("2026-05-01T06:05:00Z", 50.009, 1000))
second = lap(again, 300, 1000, point(again, 50.009, 1000), point("2026-05-01T07:05:00Z", 50.018, 2000))
third = lap(ride, 900, 5000, point(ride, 50.000, 0), point("2026-05-02T06:15:00Z", 50.045, 5000))
namespace = "http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2"


def write(name, *activities):
    with open(name, "w") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        file.write(f'<TrainingCenterDatabase xmlns="{namespace}">')
        file.write(f"<Activities>{''.join(activities)}</Activities></TrainingCenterDatabase>")


write("run.tcx", activity("Running", run, first, second))
write("both.tcx", activity("Running", run, first, second), activity("Biking", ride, third))
for name in ("run.tcx", "both.tcx"):
    one = TCXParser(name)
    print(f"{name}, tcxparser: {one.activity_type.lower()}, {int(one.distance)} m, {int(one.duration)} s")
    other = TCXReader().read(name)
    print(f"{name}, tcxreader: {other.activity_type.lower()}, {int(other.distance)} m, {int(other.duration)} s")
PYTHON
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
run.tcx, tcxparser: running, 2000 m, 600 s
run.tcx, tcxreader: running, 2000 m, 3900 s
both.tcx, tcxparser: running, 5000 m, 600 s
both.tcx, tcxreader: biking, 7000 m, 87300 s
EXPECTED
echo "as it was found"
