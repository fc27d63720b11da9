"""The phases of a rebuild or deletion, as changes of the board's record. They are described in `rebuild`."""

from dataclasses import replace
from typing import Any, Final

from standings.catalog.board_catalog import DELETE
from standings.domain.boards.coverage import coverage_of
from standings.domain.boards.definitions import Family
from standings.ports.board_records import BoardRecord, Job

REBUILD: Final = "rebuild"
LEAVING: Final = "leaving"
REMOVING: Final = "removing"
ANNOUNCED: Final = "announced"
PLACING: Final = "placing"
SWITCHED: Final = "switched"
RETIRED: Final = "retired"


class NoSuchBoardError(ValueError):
    """The board has no events, or no family of `boards.toml` matches it."""


def leave(record: BoardRecord, family: Family, now: int) -> BoardRecord:
    """Begin a deletion."""
    job = Job(DELETE, LEAVING, now, coverage_of(family))
    return replace(record, written=(record.generation,), stale=_unused(record), again=False, job=job)


def begin_removing(record: BoardRecord, _: Family, now: int) -> BoardRecord:
    """Begin to remove members: every writer knows of the deletion."""
    return _enter(record, REMOVING, now)


def announce(record: BoardRecord, family: Family, now: int) -> BoardRecord:
    """Begin a new generation, which is written from now on."""
    task = record.job.task if record.job is not None else REBUILD
    number = record.latest + 1
    return replace(
        record,
        latest=number,
        renewed=now,
        written=(record.generation, number),
        stale=_unused(record),
        job=Job(task, ANNOUNCED, now, coverage_of(family)),
    )


def begin_placing(record: BoardRecord, family: Family, now: int) -> BoardRecord:
    """Begin to place members: every projector writes the new generation."""
    # Functions with another definition have reduced the job's coverage to what they keep up.
    coverage = record.coverage.renewed(family, now).within(job_of(record).coverage)
    return _enter(record, PLACING, now, coverage=coverage)


def switch(record: BoardRecord, _: Family, now: int) -> BoardRecord:
    """Read the new generation. A deleted board is gone, unless an event came meanwhile."""
    job = job_of(record)
    deleted = not record.again if job.task == DELETE else record.deleted
    record = _enter(record, SWITCHED, now, task=REBUILD)
    return replace(record, generation=record.latest, coverage=job.coverage, deleted=deleted, again=False)


def retire(record: BoardRecord, _: Family, now: int) -> BoardRecord:
    """Stop writing the old generation."""
    return replace(_enter(record, RETIRED, now), written=(record.generation,), stale=_unused(record))


def finish(record: BoardRecord, family: Family, _: int) -> BoardRecord:
    """End the job: the old generations are purged."""
    return replace(record, stale=(), codes=family.rankings(), job=None)


def is_current(job: Job, family: Family) -> bool:
    """Whether a job makes all that the family ranks by now."""
    planned, current = job.coverage, coverage_of(family)
    return (planned.rankings, planned.late, planned.keep) == (current.rankings, current.late, current.keep)


def job_of(record: BoardRecord) -> Job:
    """The job of a record that has one."""
    if record.job is None:
        raise LookupError(f"expected board {record.board!r} to have a job")
    return record.job


def _enter(record: BoardRecord, phase: str, now: int, **changes: Any) -> BoardRecord:
    """The record with its job at the beginning of a phase."""
    job = job_of(record)
    return replace(record, job=Job(job.task, phase, now, job.coverage)._replace(**changes))


def _unused(record: BoardRecord) -> tuple[int, ...]:
    """The generations that exist and are no longer used once only the one that is read is written."""
    return tuple(sorted({*record.stale, *record.written} - {record.generation}))
