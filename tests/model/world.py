# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One job in slurmctld, what its commands do to it, and what others do to it.

What scontrol and scancel answer and do is what real releases did (22.05 to 26.05). Times are epoch
seconds of the host's clock; those that don't matter are the same constants, so that states meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hold import hold_time
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs import fakes

#: When everything begins, a begin time before that, one that a lifted hold leaves, and two that
#: lie ahead of everything.
T0 = 1796000000
PAST, LIFTED, OWN, OTHER = T0 - 100, T0 - 1, T0 + 100000, T0 + 200000

JOB_ID = "5"
FINISHED = "Job has already finished"
NOT_PENDING = "Job is no longer pending execution"
NO_JOB = "Invalid job id specified"
DISABLED = "Requested operation is presently disabled"

PENDING, RUNNING, REQUEUED, ENDING = "PENDING", "RUNNING", "requeued", "ending"
COMPLETED, CANCELLED, GONE = "COMPLETED", "CANCELLED", "gone"
LIVE = (PENDING, RUNNING, REQUEUED)
ENDED = (COMPLETED, CANCELLED)


class Job(NamedTuple):
    """What slurmctld knows. ``submits`` counts the executions that came back to the queue."""

    state: str = PENDING
    begin: int = PAST
    gate: bool = False
    bit: bool = False
    restarts: int = 0
    submits: int = 0
    by_cancel: bool = False


class Deed(NamedTuple):
    """What one call of scontrol or scancel does; ``begin`` is the begin time that it sets."""

    kind: str
    begin: int = 0


def instance(number: int) -> int:
    """The begin time of a hold."""
    return hold_time(number)


def held(job: Job) -> bool:
    """Whether a hold is in place."""
    return job.begin > OTHER


def shown(job: Job) -> dict[str, str]:
    """The job as squeue's fields."""
    start = str(T0 - 50)
    words = {REQUEUED: "COMPLETING", ENDING: "COMPLETING"}
    ends = {
        PENDING: "N/A",
        RUNNING: str(T0 - 50 + 600),
        REQUEUED: str(T0 - 50 + 600),
    }
    return fakes.job(
        JOB_ID,
        State=words.get(job.state, job.state),
        EligibleTime=str(job.begin),
        StartTime="N/A" if job.state == PENDING else start,
        EndTime=ends.get(job.state, str(T0 - 20)),
        SubmitTime=str(T0 - 200 + job.submits),
        Requeue=str(int(job.bit)),
        RestartCnt=str(job.restarts),
        PriorityLong="0" if job.gate else "4294",
        Reason="JobHeldUser" if job.gate else "None",
    )


def done(job: Job, deed: Deed) -> tuple[Job, str]:
    """The job after a call has been handled, and slurmctld's refusal, "" for none."""
    if job.state == GONE:
        return job, "" if deed.kind == "cancel" else NO_JOB
    if deed.kind == "cancel":
        return _cancelled(job), ""
    if deed.kind in ("requeue", "plain_requeue"):
        return _requeued(job, deed.kind == "plain_requeue")
    if job.state not in LIVE:
        return job, FINISHED
    if deed.kind == "open":
        return job._replace(gate=False), ""
    if deed.kind in ("set", "clear"):
        return job._replace(bit=deed.kind == "set"), ""
    if job.state == RUNNING:
        return job, NOT_PENDING
    return job._replace(begin=deed.begin), ""


def _requeued(job: Job, plain: bool) -> tuple[Job, str]:
    """``requeue incomplete``; the plain one brings back what has ended."""
    if plain and job.bit and job.state in ENDED:
        return job._replace(state=PENDING, restarts=job.restarts + 1, submits=job.submits + 1), ""
    if job.state != RUNNING:
        return job, ""
    if not job.bit:
        return job, DISABLED
    return job._replace(state=REQUEUED, restarts=job.restarts + 1), ""


def _cancelled(job: Job) -> Job:
    if job.state == PENDING:
        return job._replace(state=CANCELLED, by_cancel=True)
    if job.state in (RUNNING, REQUEUED):
        return job._replace(state=ENDING, by_cancel=True)
    return job


def by_itself(job: Job) -> Iterator[tuple[str, Job]]:
    """What slurmctld does next without being asked."""
    if job.state == REQUEUED:
        yield "the job is back in the queue", job._replace(state=PENDING, submits=job.submits + 1)
    if job.state == ENDING:
        yield "the job is over", job._replace(state=CANCELLED)


def by_others(job: Job) -> Iterator[tuple[str, Job]]:
    """What other people, other controllers and the scheduler may do."""
    if job.state in (PENDING, REQUEUED):
        for what, begin in (
            ("somebody lifts the begin time", LIFTED),
            ("somebody sets another begin time", OTHER),
            ("another controller places hold 1", instance(1)),
            ("another controller places hold 2", instance(2)),
        ):
            if job.begin != begin:
                yield what, job._replace(begin=begin)
    if job.state == PENDING:
        yield "somebody works the gate", job._replace(gate=not job.gate)
        if not job.gate and job.begin <= T0:
            yield "the job starts", job._replace(state=RUNNING)
    if job.state == RUNNING:
        yield "the job completes", job._replace(state=COMPLETED)
        again = job._replace(state=REQUEUED, restarts=job.restarts + 1)
        yield "somebody or a lost node requeues the job", again
    if job.state in LIVE:
        yield "somebody works the requeue bit", job._replace(bit=not job.bit)
        yield "somebody cancels the job", _cancelled(job)
    if job.state in ENDED:
        yield "slurmctld forgets the job", job._replace(state=GONE)
