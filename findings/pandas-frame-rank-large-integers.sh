#!/usr/bin/env bash
# pandas ranks integers above 2^53 exactly in a column, and ties them in a frame with another column of floats.
#
# Matters to: whoever checks ranks with pandas. Scores such as nanoseconds or packed keys are near each other and that
# large. `frame.rank()` makes one array of all columns first, so a column that nobody ranks by changes the ranks of the
# integers.
# Versions: PyPI pandas 3.1.1 with numpy 2.4.6; polars 2.1.0 beside it.
# Seen: 2^53, 2^53 + 1, 2^53 + 2 are 1, 2, 3 alone, in groups, beside integers and as `Int64`, and 1, 1, 3 as `int64`
# beside floats.
# Source: https://pandas.pydata.org/docs/reference/api/pandas.DataFrame.rank.html (says nothing of it)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check pandas==3.1.1 numpy==2.4.6 polars==2.1.0
env/bin/python - <<'PYTHON' | tee seen
import pandas
import polars

scores = [2**53, 2**53 + 1, 2**53 + 2]
integers = pandas.DataFrame({"score": scores, "wins": [1, 2, 3]})
mixed = pandas.DataFrame({"score": scores, "pace": [1.5, 2.5, 3.5]})
nullable = mixed.astype({"score": "Int64"})
board = pandas.Series(["a"] * 3)
polars_frame = polars.DataFrame({"score": scores, "pace": [1.5, 2.5, 3.5]})


def show(name, ranks):
    print(f"{name}: {[int(rank) for rank in ranks]}")


show("a column", mixed["score"].rank(method="min"))
show("in groups", mixed.groupby(board).rank(method="min")["score"])
show("a frame of integers", integers.rank(method="min")["score"])
show("a frame with floats", mixed.rank(method="min")["score"])
show("a frame with floats, Int64", nullable.rank(method="min")["score"])
show("polars", polars_frame.select(polars.all().rank("min"))["score"])
PYTHON
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
a column: [1, 2, 3]
in groups: [1, 2, 3]
a frame of integers: [1, 2, 3]
a frame with floats: [1, 1, 3]
a frame with floats, Int64: [1, 2, 3]
polars: [1, 2, 3]
EXPECTED
echo "as it was found"
