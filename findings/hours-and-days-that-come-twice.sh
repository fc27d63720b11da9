#!/usr/bin/env bash
# Date libraries make one hour of two that look equal, or two days of one with two midnights; one of eight does neither.
#
# Matters to: whoever groups scores by hour or day of a time zone, or compares such sums of two tools. Clocks that go back
# show one hour twice. Its start must keep the offset of the event; where midnight comes twice, the start of the day must
# not. Of eight libraries one does both. Three put an event into an hour or a day that begins after it.
# Versions: npm temporal-polyfill 1.0.8, luxon 3.7.2, moment-timezone 0.6.6 with moment 2.30.1, date-fns 4.4.0 with
# @date-fns/tz 1.5.0, dayjs 1.11.23; PyPI polars 2.1.0, arrow 1.4.0 with tzdata 2026.6, duckdb 2.0.1 with pytz 2026.3.
# Seen: starts of the hours of 00:30 and 01:30 UTC, which are both 02:30 in Berlin, and of the days of 04:30 and 05:30
# UTC, which are both 00:30 in Havana. Right are 00:00 and 01:00, and 04:00 for both. For luxon, moment and polars a day
# of Havana is two. date-fns, dayjs, arrow and duckdb's `date_trunc` give both hours one start. Which one date-fns and
# dayjs take depends on the time zone of the process: the second on UTC, the first on Asia/Tokyo.
# Source: https://tc39.es/proposal-temporal/docs/ambiguity.html;
# https://docs.pola.rs/api/python/stable/reference/expressions/api/polars.Expr.dt.truncate.html (an ambiguous start has
# the offset of the original); https://duckdb.org/docs/stable/sql/functions/timestamptz (date_trunc)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check polars==2.1.0 arrow==1.4.0 tzdata==2026.6 duckdb==2.0.1 \
    pytz==2026.3
npm install --silent --no-fund --no-audit --no-save temporal-polyfill@1.0.8 luxon@3.7.2 moment-timezone@0.6.6 \
    moment@2.30.1 date-fns@4.4.0 @date-fns/tz@1.5.0 dayjs@1.11.23
cat >run.mjs <<'NODE'
import { TZDate } from "@date-fns/tz";
import { startOfDay, startOfHour } from "date-fns";
import dayjs from "dayjs";
import timezone from "dayjs/plugin/timezone.js";
import utc from "dayjs/plugin/utc.js";
import { DateTime } from "luxon";
import moment from "moment-timezone";
import { Temporal } from "temporal-polyfill";

dayjs.extend(utc);
dayjs.extend(timezone);
const temporal = (time, zone) => Temporal.Instant.from(time).toZonedDateTimeISO(zone);
const LIBRARIES = {
  temporal: {
    hour: (time, zone) => temporal(time, zone).round({ smallestUnit: "hour", roundingMode: "floor" }).epochMilliseconds,
    day: (time, zone) => temporal(time, zone).startOfDay().epochMilliseconds,
  },
  luxon: {
    hour: (time, zone) => DateTime.fromISO(time, { zone }).startOf("hour"),
    day: (time, zone) => DateTime.fromISO(time, { zone }).startOf("day"),
  },
  moment: {
    hour: (time, zone) => moment.tz(time, zone).startOf("hour"),
    day: (time, zone) => moment.tz(time, zone).startOf("day"),
  },
  "date-fns": {
    hour: (time, zone) => startOfHour(new TZDate(time, zone)),
    day: (time, zone) => startOfDay(new TZDate(time, zone)),
  },
  dayjs: {
    hour: (time, zone) => dayjs(time).tz(zone).startOf("hour"),
    day: (time, zone) => dayjs(time).tz(zone).startOf("day"),
  },
};
const show = (instant) => new Date(Number(instant.valueOf())).toISOString().slice(11, 16);
for (const name of process.argv.slice(2)) {
  const { hour, day } = LIBRARIES[name];
  const hours = ["00:30", "01:30"].map((clock) => show(hour(`2025-10-26T${clock}:00Z`, "Europe/Berlin")));
  const days = ["04:30", "05:30"].map((clock) => show(day(`2025-11-02T${clock}:00Z`, "America/Havana")));
  console.log(`${name} on ${process.env.TZ}: hours ${hours.join(" ")}, days ${days.join(" ")}`);
}
NODE
TZ=UTC node run.mjs temporal luxon moment date-fns dayjs | tee seen
TZ=Asia/Tokyo node run.mjs date-fns dayjs | tee -a seen
env/bin/python - <<'PYTHON' | tee -a seen
from datetime import datetime, timezone

import arrow
import duckdb
import polars


def by_polars(unit, instant, zone):
    column = polars.Series([instant]).dt.convert_time_zone(zone)
    return column.dt.truncate({"hour": "1h", "day": "1d"}[unit])[0]


def by_arrow(unit, instant, zone):
    return arrow.get(instant).to(zone).floor(unit)


def by_duckdb(unit, instant, zone):
    connection = duckdb.connect()
    connection.execute(f"set timezone = '{zone}'")
    return connection.execute("select date_trunc(?, ?::timestamptz)", [unit, instant]).fetchone()[0]


for name, start in (("polars", by_polars), ("arrow", by_arrow), ("duckdb", by_duckdb)):
    found = []
    for unit, zone, times in (
        ("hour", "Europe/Berlin", ("2025-10-26T00:30Z", "2025-10-26T01:30Z")),
        ("day", "America/Havana", ("2025-11-02T04:30Z", "2025-11-02T05:30Z")),
    ):
        starts = (start(unit, datetime.fromisoformat(time), zone).astimezone(timezone.utc) for time in times)
        found.append(f"{unit}s " + " ".join(f"{moment:%H:%M}" for moment in starts))
    print(f"{name}: {', '.join(found)}")
PYTHON
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
temporal on UTC: hours 00:00 01:00, days 04:00 04:00
luxon on UTC: hours 00:00 01:00, days 04:00 05:00
moment on UTC: hours 00:00 01:00, days 04:00 05:00
date-fns on UTC: hours 01:00 01:00, days 04:00 04:00
dayjs on UTC: hours 01:00 01:00, days 04:00 04:00
date-fns on Asia/Tokyo: hours 00:00 00:00, days 04:00 04:00
dayjs on Asia/Tokyo: hours 00:00 00:00, days 04:00 04:00
polars: hours 00:00 01:00, days 04:00 05:00
arrow: hours 00:00 00:00, days 04:00 04:00
duckdb: hours 01:00 01:00, days 05:00 05:00
EXPECTED
echo "as it was found"
