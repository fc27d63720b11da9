#!/usr/bin/env bash
# Standard ranklist's sorter "ICPC" adds milliseconds, ICPC and xcpcio add whole minutes: the last becomes the first.
#
# Matters to: whoever posts penalties of contests, or compares two of their tables. `timePrecision` is `ms` unless the
# list names another. The rounding of the sum (`rankingTimePrecision`) gives a third order, not ICPC's either.
# Versions: PyPI algoux-standard-ranklist-utils 0.3.4; npm @xcpcio/core 0.85.4.
# Seen: three teams solve two problems at 10:50 and 20:50, at 10:10 and 21:10, at 10:20 and 21:15. xcpcio: ann 1, ben 2,
# cem 2. Standard ranklist: ben 1, cem 2, ann 3; by minutes of the sum: all first.
# Source: https://ccs-specs.icpc.io/ (Scoreboard: minutes, rounded down, of each problem);
# https://github.com/algoux/standard-ranklist
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check algoux-standard-ranklist-utils==0.3.4
npm install --silent --no-fund --no-audit --no-save @xcpcio/core@0.85.4
cat >times.json <<'JSON'
{"ann": [650, 1250], "ben": [610, 1270], "cem": [620, 1275]}
JSON
cat >run.cjs <<'NODE'
const { Rank, createContest, createSubmissions, createTeams } = require("@xcpcio/core");
const times = require("./times.json");

const contest = createContest({
  contest_name: "sample", organization: "School", start_time: 1777600000, end_time: 1777618000, frozen_time: 0,
  penalty: 1200, problem_quantity: 2, problem_id: ["A", "B"], status_time_display: {}, group: {},
});
const names = Object.keys(times);
const teams = createTeams(Object.fromEntries(names.map((name) => [name, { team_id: name, name }])));
const solved = names.flatMap((name) =>
  times[name].map((timestamp, problem_id) => ({ team_id: name, problem_id, timestamp, status: "AC" })));
const rank = new Rank(contest, teams, createSubmissions(solved));
rank.buildRank();
console.log("xcpcio:", rank.teams.map((team) => `${team.rank} ${team.id}`).join(", "));
NODE
node run.cjs | tee seen
env/bin/python - <<'PYTHON' | tee -a seen
import json

from standard_ranklist_utils import convert_to_static_ranklist, regenerate_ranklist_by_solutions

with open("times.json") as file:
    times = json.load(file)
ranklist = {
    "type": "general",
    "version": "0.3.9",
    "contest": {"title": "sample", "startAt": "2026-05-01T08:00:00Z", "duration": [5, "h"]},
    "problems": [{"alias": "A"}, {"alias": "B"}],
    "series": [{"title": "rank", "rule": {"preset": "Normal"}}],
    "rows": [{"user": {"id": name, "name": name}, "score": {"value": 0}, "statuses": []} for name in times],
}
solutions = [[name, problem, "AC", [times[name][problem], "s"]] for problem in (0, 1) for name in times]
for config in ({}, {"rankingTimePrecision": "min"}, {"timePrecision": "min"}):
    made = regenerate_ranklist_by_solutions(ranklist | {"sorter": {"algorithm": "ICPC", "config": config}}, solutions)
    rows = convert_to_static_ranklist(made)["rows"]
    order = sorted((row["rankValues"][0]["rank"], row["user"]["id"]) for row in rows)
    print(f"standard ranklist, {json.dumps(config)}:", ", ".join(f"{rank} {name}" for rank, name in order))
PYTHON
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
xcpcio: 1 ann, 2 ben, 2 cem
standard ranklist, {}: 1 ben, 2 cem, 3 ann
standard ranklist, {"rankingTimePrecision": "min"}: 1 ann, 1 ben, 1 cem
standard ranklist, {"timePrecision": "min"}: 1 ann, 2 ben, 2 cem
EXPECTED
echo "as it was found"
