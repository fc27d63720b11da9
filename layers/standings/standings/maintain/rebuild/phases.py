"""The phases of a rebuild or deletion, as states of the board's record. `rebuild` describes them."""

from dataclasses import dataclass, replace
from typing import Any, Final

from standings.domain.boards.coverage import coverage_of
from standings.domain.boards.definitions import Family
from standings.ports.board_records import DELETE, REBUILD, BoardRecord, Job

LEAVING: Final = "leaving"
REMOVING: Final = "removing"
ANNOUNCED: Final = "announced"
PLACING: Final = "placing"
SWITCHED: Final = "switched"
RETIRED: Final = "retired"

WAITING: Final = frozenset({LEAVING, ANNOUNCED, SWITCHED, RETIRED})
AFTER_WAITING: Final = {LEAVING: REMOVING, ANNOUNCED: PLACING, SWITCHED: RETIRED}


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is: `members` are done in this phase, in `slot` of `SLOTS` slots. The next step is in `wait` s."""

    board: str
    task: str
    phase: str
    generation: int
    members: int
    slot: int
    wait: float
    done: bool


def enter(record: BoardRecord, phase: str, family: Family, now: int) -> BoardRecord:
    """The record with its job, or a new one, at the beginning of a phase."""
    planned = coverage_of(family, now)
    job = (record.job or Job(REBUILD, phase, now, planned))._replace(
        phase=phase, since=now, slot=0, after=None, members=0
    )
    changes: dict[str, Any] = {}
    if phase in {LEAVING, ANNOUNCED, RETIRED}:
        changes["stale"] = tuple(sorted({*record.stale, *record.written} - {record.generation}))
        changes["written"] = (record.generation,)
    if phase == LEAVING:
        job = Job(DELETE, phase, now, planned)
    elif phase == ANNOUNCED:
        number = record.latest + 1
        job = job._replace(coverage=planned)
        changes |= {"latest": number, "renewed": now, "written": (record.generation, number)}
    elif phase == PLACING:
        # Functions with another definition have reduced the job's coverage to what they keep up.
        job = job._replace(coverage=record.coverage.renewed(family, now).within(job.coverage))
    elif phase == SWITCHED:
        lost = record.coverage.lost
        if job.task == DELETE:
            changes["deleted"] = True
            lost = frozenset()  # All that was counted before is removed
        changes |= {"generation": record.latest, "coverage": job.coverage.without(lost)}
        job = job._replace(task=REBUILD)
    return replace(record, job=job, **changes)


def is_outdated(job: Job, family: Family) -> bool:
    """Whether a job that has not switched yet makes other rankings than the family has by now."""
    planned = job.coverage
    current = coverage_of(family, job.since).without(planned.lost)
    is_same = (planned.rankings, planned.late, planned.keep) == (current.rankings, current.late, current.keep)
    return job.phase in {ANNOUNCED, PLACING} and not is_same


def job_of(record: BoardRecord) -> Job:
    """The job of a record that has one."""
    if record.job is None:
        raise LookupError(f"expected board {record.board!r} to have a job")
    return record.job
