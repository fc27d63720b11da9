"""The rules that keep rankings exact, by stage of the pipeline, each with the replacements that disable it.

`docs/safeguards.md` says what goes wrong without each.

    make safeguards SAFEGUARDS_ARGS="NAME ..."

disables each safeguard, or each one named, and runs schedules until some come out wrong. It writes
`benchmarks/results/safeguards.json` and the tables of `docs/safeguards.md`. Random schedules rarely need some of the
safeguards. Those have schedules written by hand, which take each step on a rig.
"""

from . import boards, corrections, ends, outages, project, rolling, ties, write
from .replacing import SAFEGUARDS, Change, Safeguard
from .rig import on_a_rig

__all__ = [
    "SAFEGUARDS",
    "Change",
    "Safeguard",
    "boards",
    "corrections",
    "ends",
    "on_a_rig",
    "outages",
    "project",
    "rolling",
    "ties",
    "write",
]
