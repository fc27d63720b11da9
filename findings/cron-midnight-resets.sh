#!/usr/bin/env bash
# A reset at "0 0 * * *" happens twice, an hour late or not at all, where the clocks change at midnight.
#
# Matters to: whoever ends the days or weeks of a leaderboard by a cron expression in a time zone. Of five schedulers two
# reset a day of 25 hours again after its first hour, one resets only then, one leaves out a day that begins at 01:00.
# Versions: PyPI apscheduler 3.11.3, croniter 7.0.0, cronsim 2.8, tzdata 2026.6; npm cron-parser 5.10.5, croner 11.0.0.
# Seen: Havana's clocks went from 01:00 back to 00:00 on 2025-11-02. croniter and apscheduler reset at both midnights,
# cron-parser at the second, cronsim and croner at the first. Cairo's clocks went from 00:00 to 01:00 on 2025-04-25.
# apscheduler resets a day later, the others at 01:00.
# Source: https://apscheduler.readthedocs.io/en/3.x/modules/triggers/cron.html (daylight saving time behavior);
# https://manpages.debian.org/stable/cron/cron.8.en.html (what the clocks skip runs right after, what they repeat is not
# run again)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check apscheduler==3.11.3 croniter==7.0.0 cronsim==2.8 tzdata==2026.6
npm install --silent --no-fund --no-audit --no-save cron-parser@5.10.5 croner@11.0.0
cat >cases.json <<'JSON'
[
  ["America/Havana", "2025-11-01T16:00:00+00:00"],
  ["Africa/Cairo", "2025-04-24T10:00:00+00:00"]
]
JSON
cat >run.py <<'PYTHON'
import json
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger
from croniter import croniter
from cronsim import CronSim


def by_apscheduler(expression, start):
    trigger, last, now = CronTrigger.from_crontab(expression, start.tzinfo), None, start
    while True:
        last = trigger.get_next_fire_time(last, now)
        yield last
        now = (last.astimezone(timezone.utc) + timedelta(seconds=1)).astimezone(start.tzinfo)


def by_croniter(expression, start):
    return croniter(expression, start, ret_type=datetime)


with open("cases.json") as file:
    cases = json.load(file)
for zone, begins in cases:
    start = datetime.fromisoformat(begins).astimezone(ZoneInfo(zone))
    for name, times in (("apscheduler", by_apscheduler), ("croniter", by_croniter), ("cronsim", CronSim)):
        two = [time for time, _ in zip(times("0 0 * * *", start), range(2))]
        print(f"{zone}, {name}:", *(f"{time:%a %m-%d %H:%M%z}" for time in two))
PYTHON
cat >run.mjs <<'NODE'
import { readFileSync } from "node:fs";
import { CronExpressionParser } from "cron-parser";
import { Cron } from "croner";

const DATE = { weekday: "short", month: "2-digit", day: "2-digit" };
const PARTS = { ...DATE, hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "longOffset" };
for (const [zone, begins] of JSON.parse(readFileSync("cases.json", "utf8"))) {
  const format = new Intl.DateTimeFormat("en-US", { ...PARTS, timeZone: zone });
  const show = (time) => {
    const part = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, value]));
    const offset = part.timeZoneName.replace("GMT", "").replace(":", "");
    return `${part.weekday} ${part.month}-${part.day} ${part.hour}:${part.minute}${offset}`;
  };
  const start = new Date(begins);
  const parser = CronExpressionParser.parse("0 0 * * *", { currentDate: start, tz: zone });
  const found = {
    "cron-parser": [parser.next().toDate(), parser.next().toDate()],
    croner: new Cron("0 0 * * *", { timezone: zone, paused: true }).nextRuns(2, start),
  };
  for (const [name, times] of Object.entries(found)) {
    console.log(`${zone}, ${name}:`, times.map(show).join(" "));
  }
}
NODE
env/bin/python run.py | tee seen
TZ=UTC node run.mjs | tee -a seen
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
America/Havana, apscheduler: Sun 11-02 00:00-0400 Sun 11-02 00:00-0500
America/Havana, croniter: Sun 11-02 00:00-0400 Sun 11-02 00:00-0500
America/Havana, cronsim: Sun 11-02 00:00-0400 Mon 11-03 00:00-0500
Africa/Cairo, apscheduler: Sat 04-26 00:00+0300 Sun 04-27 00:00+0300
Africa/Cairo, croniter: Fri 04-25 01:00+0300 Sat 04-26 00:00+0300
Africa/Cairo, cronsim: Fri 04-25 01:00+0300 Sat 04-26 00:00+0300
America/Havana, cron-parser: Sun 11-02 00:00-0500 Mon 11-03 00:00-0500
America/Havana, croner: Sun 11-02 00:00-0400 Mon 11-03 00:00-0500
Africa/Cairo, cron-parser: Fri 04-25 01:00+0300 Sat 04-26 00:00+0300
Africa/Cairo, croner: Fri 04-25 01:00+0300 Sat 04-26 00:00+0300
EXPECTED
echo "as it was found"
