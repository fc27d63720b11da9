#!/usr/bin/env bash
# A daily round of a calendar lasts 24 or 25 hours when the clocks go back: by how its end is written, and by the reader.
#
# Matters to: whoever takes rounds or seasons of a leaderboard from an iCalendar file. By the standard, all repeats of an
# event with DTEND last exactly as long as the first one. So the round of a day of 25 hours ends an hour before the next
# one begins, and the round of a day of 23 hours an hour after. Only the duration P1D follows the clocks. No reader here
# does what the standard says for all three ways.
# Versions: npm ical.js 2.2.1, node-ical 0.27.2; PyPI recurring-ical-events 3.8.2 with icalendar 7.3.0 and tzdata 2026.6.
# Seen: daily rounds from midnight in Berlin, by DTEND, P1D and PT24H, of which the second is on 2025-10-26. By the
# standard it has 24, 25 and 24 hours. node-ical gives 24 to all, ical.js and recurring-ical-events give 25 to all.
# Source: RFC 5545, 3.8.5.3 (DTEND: the same exact duration for all; DURATION: the same nominal one) and 3.3.6 (days are
# nominal, hours exact)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check recurring-ical-events==3.8.2 icalendar==7.3.0 tzdata==2026.6
npm install --silent --no-fund --no-audit --no-save ical.js@2.2.1 node-ical@0.27.2
cat >rounds.py <<'PYTHON'
HEAD = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//sample//rounds//EN
BEGIN:VTIMEZONE
TZID:Europe/Berlin
BEGIN:DAYLIGHT
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
DTSTART:19810329T020000
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
END:DAYLIGHT
BEGIN:STANDARD
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
DTSTART:19961027T030000
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
END:STANDARD
END:VTIMEZONE
"""
ENDS = {"DTEND": "DTEND;TZID=Europe/Berlin:20251026T000000", "P1D": "DURATION:P1D", "PT24H": "DURATION:PT24H"}
with open("rounds.ics", "w", newline="\r\n") as file:
    file.write(HEAD)
    for name, end in ENDS.items():
        file.write(f"BEGIN:VEVENT\nUID:{name}@sample\nDTSTAMP:20250101T000000Z\nSUMMARY:{name}\n")
        file.write(f"DTSTART;TZID=Europe/Berlin:20251025T000000\n{end}\nRRULE:FREQ=DAILY;COUNT=3\nEND:VEVENT\n")
    file.write("END:VCALENDAR\n")
PYTHON
env/bin/python rounds.py
cat >run.mjs <<'NODE'
import { readFileSync } from "node:fs";
import ICAL from "ical.js";
import ical from "node-ical";

const text = readFileSync("rounds.ics", "utf8");
const hours = (start, end) => (end - start) / 3_600_000;
const show = (reader, found) => console.log(`${reader}:`, found.map((round) => round.join(" ")).join(", "));

const calendar = new ICAL.Component(ICAL.parse(text));
calendar.getAllSubcomponents("vtimezone").forEach((zone) => ICAL.TimezoneService.register(zone));
show("ical.js", calendar.getAllSubcomponents("vevent").map((component) => {
  const event = new ICAL.Event(component);
  const occurrences = event.iterator();
  occurrences.next();
  const { startDate, endDate } = event.getOccurrenceDetails(occurrences.next());
  return [event.summary, hours(startDate.toJSDate(), endDate.toJSDate())];
}));

const range = { from: new Date("2025-10-20T00:00Z"), to: new Date("2025-11-05T00:00Z") };
const events = Object.values(ical.sync.parseICS(text)).filter(({ type }) => type === "VEVENT");
show("node-ical", events.map((event) => {
  const { start, end } = ical.expandRecurringEvent(event, range)[1];
  return [event.summary, hours(start, end)];
}));
NODE
TZ=UTC node run.mjs | tee seen
env/bin/python - <<'PYTHON' | tee -a seen
from datetime import timedelta, timezone

import icalendar
import recurring_ical_events

with open("rounds.ics", "rb") as file:
    calendar = icalendar.Calendar.from_ical(file.read())
lengths = {}
for event in recurring_ical_events.of(calendar).at((2025, 10, 26)):
    start, end = (moment.astimezone(timezone.utc) for moment in (event.start, event.end))
    if f"{start:%m-%d %H}" == "10-25 22":
        lengths[str(event["SUMMARY"])] = (end - start) // timedelta(hours=1)
print("recurring-ical-events:", ", ".join(f"{name} {length}" for name, length in sorted(lengths.items())))
PYTHON
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
ical.js: DTEND 25, P1D 25, PT24H 25
node-ical: DTEND 24, P1D 24, PT24H 24
recurring-ical-events: DTEND 25, P1D 25, PT24H 25
EXPECTED
echo "as it was found"
