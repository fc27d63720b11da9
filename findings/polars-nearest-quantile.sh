#!/usr/bin/env bash
# polars' `describe` calls 30 the 50% of 10, 20, 30, 40, and its "nearest" is not the one of numpy and pandas.
#
# Matters to: whoever compares percentiles of scores between these tools. polars interpolates by "nearest" unless told,
# and a place halfway between two members goes up, where the others go to the even one.
# Versions: PyPI polars 2.1.0, pandas 3.1.1, numpy 2.4.6.
# Seen: 50% of 10, 20, 30, 40 is 30 in polars' `describe` and 25 in its `median` and in pandas. The quarters of 1 to 3
# by "nearest" are 2, 2, 3 in polars and 1, 2, 3 in numpy and pandas.
# Source: https://docs.pola.rs/api/python/stable/reference/dataframe/api/polars.DataFrame.describe.html (interpolation)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check polars==2.1.0 pandas==3.1.1 numpy==2.4.6
env/bin/python - <<'PYTHON' | tee seen
import numpy
import pandas
import polars

scores = [10, 20, 30, 40]
described = dict(polars.Series(scores).describe().rows())
print(f"polars: 50% is {described['50%']:g}, the median {polars.Series(scores).median():g}")
print(f"pandas: 50% is {pandas.Series(scores).describe()['50%']:g}, the median {pandas.Series(scores).median():g}")
members, quarters = [1, 2, 3], (0.25, 0.5, 0.75)
print("polars, nearest:", *(f"{polars.Series(members).quantile(q, 'nearest'):g}" for q in quarters))
print("pandas, nearest:", *(f"{pandas.Series(members).quantile(q, 'nearest'):g}" for q in quarters))
print("numpy, nearest:", *(f"{numpy.quantile(members, q, method='nearest'):g}" for q in quarters))
PYTHON
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
polars: 50% is 30, the median 25
pandas: 50% is 25, the median 25
polars, nearest: 2 2 3
pandas, nearest: 1 2 3
numpy, nearest: 1 2 3
EXPECTED
echo "as it was found"
