#!/usr/bin/env bash
# Django gives every member rank 1 who is asked for alone, and finds the last one among "rank 1", in any order of filters.
#
# Matters to: whoever shows "your rank" from a model with `Window(Rank())`. Django puts a filter by rank around the query
# and all other filters into it, where SQL applies them before it ranks. So any filter, such as one by country, changes
# the ranks of those who are left, and no error tells it.
# Versions: PyPI Django 5.2.19 with asgiref 3.13.0 and sqlparse 0.6.1, on Python's SQLite.
# Seen: ann 30, ben 20, cem 10. `get(member="cem")` has rank 1; `in_bulk` of ben and cem has 1 and 2. cem is found with
# rank 1 by `filter(rank__lte=1)` and `filter(member="cem")`, whichever comes first. With an OR of both, and in a slice of
# one, cem is third.
# Source: https://docs.djangoproject.com/en/5.2/ref/models/expressions/#window-functions (filtering is supported; it does
# not say which filter comes first)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check Django==5.2.19 asgiref==3.13.0 sqlparse==0.6.1
env/bin/python - <<'PYTHON' | tee seen
import django
from django.conf import settings

settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}})
django.setup()

from django.db import connection, models
from django.db.models import F, Q, Window
from django.db.models.functions import Rank


class Score(models.Model):
    member = models.CharField(max_length=20, primary_key=True)
    points = models.IntegerField()

    class Meta:
        app_label = "board"


with connection.schema_editor() as editor:
    editor.create_model(Score)
for member, points in (("ann", 30), ("ben", 20), ("cem", 10)):
    Score.objects.create(member=member, points=points)
ranked = Score.objects.annotate(rank=Window(Rank(), order_by=F("points").desc()))


def show(name, rows):
    print(f"{name}:", ", ".join(f"{row.member} {row.rank}" for row in rows))


show("all", ranked.order_by("rank"))
show("get", [ranked.get(member="cem")])
show("in_bulk", ranked.in_bulk(["ben", "cem"]).values())
show("rank, then member", ranked.filter(rank__lte=1).filter(member="cem"))
show("member, then rank", ranked.filter(member="cem").filter(rank__lte=1))
show("rank or member", ranked.filter(Q(rank__lte=1) | Q(member="cem")).order_by("rank"))
show("slice", ranked.order_by("points")[:1])
better = Score.objects.filter(points__gt=Score.objects.get(member="cem").points).count()
print(f"counted: cem {better + 1}")
PYTHON
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
all: ann 1, ben 2, cem 3
get: cem 1
in_bulk: ben 1, cem 2
rank, then member: cem 1
member, then rank: cem 1
rank or member: ann 1, cem 3
slice: cem 3
counted: cem 3
EXPECTED
echo "as it was found"
