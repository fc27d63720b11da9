#!/usr/bin/env bash
# One measured time is three results: athletics rounds it up, cycling's tool cuts it off, `format` takes the nearest.
#
# Matters to: whoever posts times of races. Who ties with whom, and a time limit or a record, hang on it. So post what
# was measured, in thousandths, and let each sport's tool write the result.
# Versions: PyPI athlib 0.9.8 (track and field) with jsonschema 4.26.0 and python-dateutil 4.0.0, metarace 2.1.35
# (cycling).
# Seen: 10.001 s is 10.01 in athlib and 10.00 in metarace; 59.999 s to whole seconds is 1:00 and 59. athlib imports
# jsonschema and dateutil, and names neither as a requirement.
# Source: https://github.com/openath/athlib (fractional seconds are rounded up); https://codeberg.org/ndf-zz/metarace
# (tod.rawtime)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check athlib==0.9.8 metarace==2.1.35 \
    jsonschema==4.26.0 python-dateutil==4.0.0
env/bin/python - <<'PYTHON' | tee seen
from athlib.utils import format_seconds_as_time
from metarace import tod

for text in ("10.001", "59.999", "62.345"):
    hundredths = format_seconds_as_time(float(text), 2), tod.mktod(text).rawtime(2), f"{float(text):.2f}"
    seconds = format_seconds_as_time(float(text), 0), tod.mktod(text).rawtime(0), f"{float(text):.0f}"
    print(f"{text}: athlib {hundredths[0]} {seconds[0]}, metarace {hundredths[1]} {seconds[1]}, format {hundredths[2]} {seconds[2]}")
PYTHON
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
10.001: athlib 10.01 11, metarace 10.00 10, format 10.00 10
59.999: athlib 1:00.00 1:00, metarace 59.99 59, format 60.00 60
62.345: athlib 1:02.35 1:03, metarace 1:02.34 1:02, format 62.34 62
EXPECTED
echo "as it was found"
