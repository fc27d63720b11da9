"""Looks at a stack without changing anything."""

from collections.abc import Callable, Iterator
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from standings_cli.doctor import access, data, functions, sources, watching
from standings_cli.doctor.deployed import Deployed
from standings_cli.doctor.finding import Finding, failed, note
from standings_cli.stack.errors import FunctionError, NoAnswerError

Check = Callable[[Deployed], Iterator[Finding]]
CHECKS: Final[tuple[Check, ...]] = (
    sources.mappings,
    sources.recursion,
    sources.stream,
    data.expiry,
    data.backups,
    data.protection,
    data.index,
    data.warmth,
    functions.runtimes,
    functions.botocore,
    functions.concurrency,
    access.signatures,
    watching.alarms,
    watching.refused,
    watching.parked,
    watching.audits,
    watching.settlements,
    watching.announcements,
)


def look(deployed: Deployed) -> Iterator[Finding]:
    """Run every check. One that cannot look is a finding as well, and holds up no other."""
    for check in CHECKS:
        about = check.__name__
        try:
            yield from check(deployed)
        except (ClientError, BotoCoreError, FunctionError, NoAnswerError) as error:
            if deployed.is_local:
                yield note(about, f"a local AWS cannot tell: {error}")
            else:
                yield failed(about, f"could not look: {error}")
        except KeyError as error:
            yield failed(about, f"the stack has no {error}: is it a stack of Standings, deployed whole?")
