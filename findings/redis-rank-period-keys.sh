#!/usr/bin/env bash
# redis-rank's weeks begin an hour early or late in half of the year, by when the process started; May has the key m04.
#
# Matters to: whoever moves periodic leaderboards over, or reads their keys. The offset of the time zone is taken once,
# at the start. Two processes, one started in winter and one after the change, write Saturday's last hour into two
# weeks.
# Versions: npm redis-rank 2.2.3 with ioredis 5.11.1; Node.js with its zones.
# Seen: in Europe/Berlin a week begins at Sunday's midnight either in January or in July, never in both. May 2026 is
# y2026-m04.
# Source: https://github.com/mlomb/redis-rank (README, Periodic Leaderboard: `monthly`: `y2020-m05`)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit --no-save redis-rank@2.2.3 ioredis@5.11.1
cat >run.cjs <<'NODE'
const { PeriodicLeaderboard } = require("redis-rank");

const leaderboardOptions = { sortPolicy: "high-to-low", updatePolicy: "best" };
const key = (cycle, time) => new PeriodicLeaderboard(null, "board", { leaderboardOptions, cycle }).getKey(new Date(time));
// The minutes around the midnight with which a Sunday begins, local time of the process.
const changes = (before, after) => key("weekly", before) !== key("weekly", after);
const winter = changes("2026-01-17T23:59:00", "2026-01-18T00:01:00");
const summer = changes("2026-07-18T23:59:00", "2026-07-19T00:01:00");
console.log(`of January and July, a week begins at midnight in ${Number(winter) + Number(summer)}`);
console.log(`May 2026: ${key("monthly", "2026-05-15T12:00:00")}`);
NODE
for zone in UTC Europe/Berlin; do echo "$zone"; TZ=$zone node run.cjs; done | tee seen
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
UTC
of January and July, a week begins at midnight in 2
May 2026: y2026-m04
Europe/Berlin
of January and July, a week begins at midnight in 1
May 2026: y2026-m04
EXPECTED
echo "as it was found"
