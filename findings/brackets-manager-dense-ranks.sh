#!/usr/bin/env bash
# brackets-manager ranks a group 1, 1, 1, 2: whoever comes after three equals is second, where sports say fourth.
#
# Matters to: whoever compares or moves tables of a round robin. The place of each member after a tie is another one
# than in every published table, and a prize "for the first three" goes to more members.
# Versions: npm brackets-manager 1.11.1 with brackets-memory-db 1.0.6.
# Seen: three teams draw with each other and beat the fourth: ranks 1, 1, 1, 2. A formula with goals too: 1, 1, 2, 3.
# Source: https://drarig29.github.io/brackets-docs/ (round robin: final standings and ranking formula)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit --no-save brackets-manager@1.11.1 brackets-memory-db@1.0.6
cat >run.cjs <<'NODE'
const { BracketsManager } = require("brackets-manager");
const { InMemoryDatabase } = require("brackets-memory-db");

const GOALS = { "0-1": [1, 1], "0-2": [1, 1], "1-2": [1, 1], "0-3": [2, 0], "1-3": [2, 0], "2-3": [1, 0] };

(async () => {
  const manager = new BracketsManager(new InMemoryDatabase());
  const seeding = ["ann", "ben", "cem", "dee"];
  await manager.create.stage({ tournamentId: 0, name: "group", type: "round_robin", seeding, settings: { groupCount: 1 } });
  for (const { id, opponent1, opponent2 } of (await manager.get.stageData(0)).match) {
    const swapped = opponent1.id > opponent2.id;
    const goals = GOALS[[opponent1.id, opponent2.id].sort().join("-")];
    const [one, two] = swapped ? [...goals].reverse() : goals;
    const result = (own, other) => (own === other ? "draw" : own > other ? "win" : "loss");
    await manager.update.match({
      id,
      opponent1: { score: one, result: result(one, two) },
      opponent2: { score: two, result: result(two, one) },
    });
  }
  const points = (item) => 3 * item.wins + item.draws;
  for (const rankingFormula of [points, (item) => points(item) + item.scoreDifference / 1000]) {
    const standings = await manager.get.finalStandings(0, { rankingFormula });
    console.log(standings.map((item) => `${item.rank} ${item.name} (${item.points})`).join(", "));
  }
})();
NODE
node run.cjs | tee seen
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
1 ann (5), 1 ben (5), 1 cem (5), 2 dee (0)
1 ann (5.002), 1 ben (5.002), 2 cem (5.001), 3 dee (-0.005)
EXPECTED
echo "as it was found"
