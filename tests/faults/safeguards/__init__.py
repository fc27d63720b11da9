"""The rules that keep rankings exact, by stage of the pipeline, each with the replacements that disable it.

`docs/safeguards.md` says what goes wrong without each.

    make safeguards SAFEGUARDS_ARGS="NAME ..."

disables each safeguard, or each one named, and runs schedules until some come out wrong. It writes
`benchmarks/results/safeguards.json` and the tables of `docs/safeguards.md`. Random schedules rarely need some of the
safeguards. Those have schedules written by hand, which take each step on a rig.
"""

from typing import Final

from .boards import BOARDS, REBUILDING
from .outages import OUTAGES
from .project import PROJECTING, PRUNING, REPLAYING
from .replacing import Change, Safeguard
from .rolling import LOGS, ROLLING
from .write import WRITING

__all__ = ["SAFEGUARDS", "Change", "Safeguard"]

_STAGES: Final = (WRITING, PROJECTING, ROLLING, LOGS, PRUNING, REPLAYING, REBUILDING, BOARDS, OUTAGES)
SAFEGUARDS: Final = {name: safeguard for stage in _STAGES for name, safeguard in stage.items()}
