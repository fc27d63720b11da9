#!/usr/bin/env bash
# The local time of a FIT activity is UTC for two readers, a time without a zone for one, a number for Garmin's.
#
# Matters to: whoever takes the instant of an activity from a FIT file. `local_timestamp` is what the watch showed; read
# as an instant it is wrong by the watch's offset, and near midnight counts on another day. `timestamp` is the instant.
# Versions: PyPI fit-tool 0.9.16 (writes the file), fitdecode 0.11.0, fitparse 1.2.0, garmin-fit-sdk 21.218.0; npm
# fit-file-parser 6.1.2.
# Seen: an activity that ends at 07:05 UTC, 09:05 on the watch. fitdecode and fit-file-parser say 09:05 UTC, two hours
# late.
# Source: https://developer.garmin.com/fit/cookbook/datetime/ (local_date_time)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check fit-tool==0.9.16 fitdecode==0.11.0 fitparse==1.2.0 garmin-fit-sdk==21.218.0
npm install --silent --no-fund --no-audit --no-save fit-file-parser@6.1.2
env/bin/python - <<'PYTHON' | tee seen
from datetime import datetime, timezone

import fitdecode
import fitparse
import garmin_fit_sdk
from fit_tool.fit_file_builder import FitFileBuilder
from fit_tool.profile.messages.activity_message import ActivityMessage
from fit_tool.profile.messages.file_id_message import FileIdMessage
from fit_tool.profile.profile_type import Activity, FileType, Manufacturer

FIT_EPOCH = datetime(1989, 12, 31, tzinfo=timezone.utc).timestamp()
end = datetime(2026, 5, 1, 7, 5, tzinfo=timezone.utc).timestamp()
about = FileIdMessage()
about.type = FileType.ACTIVITY
about.manufacturer = Manufacturer.DEVELOPMENT.value
about.product = 0
about.serial_number = 1
about.time_created = round(end * 1000)
activity = ActivityMessage()
activity.timestamp = round(end * 1000)
activity.total_timer_time = 600
activity.num_sessions = 1
activity.type = Activity.MANUAL
activity.local_timestamp = round(end - FIT_EPOCH) + 2 * 3600
builder = FitFileBuilder(auto_define=True)
builder.add_all([about, activity])
builder.build().to_file("run.fit")

message = next(iter(fitparse.FitFile("run.fit").get_messages("activity"))).get_values()
print("fitparse:", message["timestamp"].isoformat(), message["local_timestamp"].isoformat())
with fitdecode.FitReader("run.fit") as reader:
    for frame in reader:
        if isinstance(frame, fitdecode.FitDataMessage) and frame.name == "activity":
            print("fitdecode:", *(frame.get_value(name).isoformat() for name in ("timestamp", "local_timestamp")))
messages, _ = garmin_fit_sdk.Decoder(garmin_fit_sdk.Stream.from_file("run.fit")).read()
message = messages["activity_mesgs"][0]
print("garmin-fit-sdk:", message["timestamp"].isoformat(), message["local_timestamp"])
PYTHON
cat >run.mjs <<'NODE'
import { readFileSync } from "node:fs";
import module from "fit-file-parser";

const Parser = module.default ?? module;
new Parser({ mode: "list" }).parse(readFileSync("run.fit"), (error, data) => {
  if (error) throw new Error(error);
  const iso = (time) => new Date(time).toISOString();
  console.log("fit-file-parser:", iso(data.activity.timestamp), iso(data.activity.local_timestamp));
});
NODE
node run.mjs | tee -a seen
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
fitparse: 2026-05-01T07:05:00 2026-05-01T09:05:00
fitdecode: 2026-05-01T07:05:00+00:00 2026-05-01T09:05:00+00:00
garmin-fit-sdk: 2026-05-01T07:05:00+00:00 1146560700
fit-file-parser: 2026-05-01T07:05:00.000Z 2026-05-01T09:05:00.000Z
EXPECTED
echo "as it was found"
