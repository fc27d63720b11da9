#!/usr/bin/env bash
# TrueSkill gives two equal players who draw for first place different ratings, by their order in the list.
#
# Matters to: whoever puts ratings on a leaderboard. The two should tie there, and one of them leads by 0.005: only the
# one who stands beside the third in the list is compared with him. OpenSkill keeps the two equal.
# Versions: PyPI trueskill 0.4.5, openskill 6.2.0.
# Seen: three new players, ranks 0, 0, 1: trueskill 27.552, 27.557, 19.891. openskill 25.717, 25.717, 23.565.
# Source: https://trueskill.org/ (rate, ranks: a draw has equal ranks); https://openskill.me/
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check trueskill==0.4.5 openskill==6.2.0
env/bin/python - <<'PYTHON' | tee seen
from openskill.models import PlackettLuce
from trueskill import TrueSkill

model, environment = PlackettLuce(), TrueSkill()
for ranks in ([0, 0, 1], [0, 1, 1]):
    rated = environment.rate([(environment.create_rating(),) for _ in ranks], ranks=ranks)
    print(f"trueskill, ranks {ranks}:", *(f"{rating.mu:.3f}" for (rating,) in rated))
    rated = model.rate([[model.rating()] for _ in ranks], ranks=ranks)
    print(f"openskill, ranks {ranks}:", *(f"{rating.mu:.3f}" for (rating,) in rated))
PYTHON
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
trueskill, ranks [0, 0, 1]: 27.552 27.557 19.891
openskill, ranks [0, 0, 1]: 25.717 25.717 23.565
trueskill, ranks [0, 1, 1]: 30.109 22.443 22.448
openskill, ranks [0, 1, 1]: 27.869 23.565 23.565
EXPECTED
echo "as it was found"
