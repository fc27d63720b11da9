#!/usr/bin/env bash
# redis-rank keeps the best N where more is better; where less is better, it keeps all once two are too many.
#
# Matters to: whoever ranks times or strokes and moves a capped leaderboard over. `limitTopN` of a leaderboard from low
# to high removes members only while exactly one is too many. Once two are, it never removes anyone again.
# Versions: npm redis-rank 2.2.3 with ioredis 5.11.1 on ioredis-mock 8.13.1, which runs its Lua.
# Seen: six members in one update, then a seventh, with limitTopN 3: 3 members from high to low, 7 from low to high.
# Source: https://github.com/mlomb/redis-rank (README: limitTopN; commands zkeeptop and zrevkeeptop)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit --no-save redis-rank@2.2.3 ioredis@5.11.1 ioredis-mock@8.13.1
cat >run.cjs <<'NODE'
const Redis = require("ioredis-mock");
const { Leaderboard } = require("redis-rank");

(async () => {
  const client = new Redis();
  for (const sortPolicy of ["high-to-low", "low-to-high"]) {
    const board = new Leaderboard(client, sortPolicy, { sortPolicy, updatePolicy: "best", limitTopN: 3 });
    await board.update([1, 2, 3, 4, 5, 6].map((value) => ({ id: `m${value}`, value })));
    const six = await board.count();
    await board.update([{ id: "m7", value: 7 }]);
    console.log(`${sortPolicy}: ${six} members after six at once, ${await board.count()} after one more`);
  }
  const one = new Leaderboard(client, "one", { sortPolicy: "low-to-high", updatePolicy: "best", limitTopN: 3 });
  for (const value of [1, 2, 3, 4, 5, 6]) await one.update([{ id: `m${value}`, value }]);
  console.log(`low-to-high: ${await one.count()} members after six, one by one`);
  client.disconnect();
})();
NODE
node run.cjs | tee seen
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
high-to-low: 3 members after six at once, 3 after one more
low-to-high: 6 members after six at once, 7 after one more
low-to-high: 3 members after six, one by one
EXPECTED
echo "as it was found"
