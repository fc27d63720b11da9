#!/usr/bin/env bash
# openskill's partial pairing on npm gives the second of a race the rating of the last but one; on PyPI it does not.
#
# Matters to: whoever rates races and shows the ratings on a leaderboard, or rates in both languages. The README on npm
# names partial pairing for a race of a hundred. There each is compared with the one before and the one after only, so
# among newcomers a win and a loss cancel out; on PyPI with four on each side. Of two who draw for first place, npm
# compares only the second in the list with the third, so a draw makes them differ.
# Versions: npm openskill 5.0.1; PyPI openskill 6.2.0.
# Seen: Bradley-Terry, partial pairing, newcomers at 25.0. Six finish: on npm the first has 27.6, the last 22.4, and the
# four between 25.0. Three with ranks 0, 0, 1: 25.0, 27.6, 22.4 on npm, 26.3, 26.3, 22.4 on PyPI. The models with full
# pairing, and Plackett-Luce, which is the default of both, agree.
# Source: https://github.com/philihp/openskill.js (README: partial pairing); https://github.com/vivekjoshy/openskill.py
# (models/weng_lin/bradley_terry_part.py: window_size)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check openskill==6.2.0
npm install --silent --no-fund --no-audit --no-save openskill@5.0.1
cat >run.mjs <<'NODE'
import { rate, rating } from "openskill";
import { bradleyTerryFull, bradleyTerryPart, plackettLuce } from "openskill/models";

for (const rank of [[0, 1, 2, 3, 4, 5], [0, 0, 1]]) {
  for (const [name, model] of Object.entries({ plackettLuce, bradleyTerryFull, bradleyTerryPart })) {
    const rated = rate(rank.map(() => [rating()]), { rank, model });
    console.log(`npm, ${name.toLowerCase()}, ${rank}:`, rated.map(([{ mu }]) => mu.toFixed(1)).join(" "));
  }
}
NODE
node run.mjs | tee seen
env/bin/python - <<'PYTHON' | tee -a seen
from openskill.models import BradleyTerryFull, BradleyTerryPart, PlackettLuce

for ranks in ([0, 1, 2, 3, 4, 5], [0, 0, 1]):
    for model in (PlackettLuce(), BradleyTerryFull(), BradleyTerryPart()):
        rated = model.rate([[model.rating()] for _ in ranks], ranks=ranks)
        name = type(model).__name__.lower()
        print(f"PyPI, {name}, {','.join(map(str, ranks))}:", *(f"{rating.mu:.1f}" for (rating,) in rated))
PYTHON
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
npm, plackettluce, 0,1,2,3,4,5: 27.5 26.9 26.2 25.2 23.6 20.6
npm, bradleyterryfull, 0,1,2,3,4,5: 38.2 32.9 27.6 22.4 17.1 11.8
npm, bradleyterrypart, 0,1,2,3,4,5: 27.6 25.0 25.0 25.0 25.0 22.4
npm, plackettluce, 0,0,1: 25.7 25.7 23.6
npm, bradleyterryfull, 0,0,1: 27.6 27.6 19.7
npm, bradleyterrypart, 0,0,1: 25.0 27.6 22.4
PyPI, plackettluce, 0,1,2,3,4,5: 27.5 26.9 26.2 25.2 23.6 20.6
PyPI, bradleyterryfull, 0,1,2,3,4,5: 38.2 32.9 27.6 22.4 17.1 11.8
PyPI, bradleyterrypart, 0,1,2,3,4,5: 27.6 26.6 25.5 24.5 23.4 22.4
PyPI, plackettluce, 0,0,1: 25.7 25.7 23.6
PyPI, bradleyterryfull, 0,0,1: 27.6 27.6 19.7
PyPI, bradleyterrypart, 0,0,1: 26.3 26.3 22.4
EXPECTED
echo "as it was found"
