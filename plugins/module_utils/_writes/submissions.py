# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which job a submission became: what the queue, accounting and the journal say.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Collection, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Run
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.failures import as_error
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.exits import ExitCode
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import JobRecord
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import (
    fresh_marks,
    shortened,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.sacct import (
    FIELDS,
    PROGRAM,
    Execution,
    parse_executions,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import (
    Selection,
    read_queue,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import Base
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.journal import Recorded

#: Every state that a row can end in. Without them sacct leaves out jobs that were never eligible,
#: as a gated job that was cancelled (22.05 to 26.05).
_ENDED = "BOOT_FAIL,CANCELLED,COMPLETED,DEADLINE,FAILED,NODE_FAIL,OUT_OF_MEMORY,PREEMPTED,TIMEOUT"
_STATES = _ENDED + ",REQUEUED"


class Where(str, Enum):
    """Who says that a submission is a job."""

    SBATCH = "sbatch"
    QUEUE = "queue"
    ACCOUNTING = "accounting"
    JOURNAL = "journal"


@dataclass(frozen=True)
class Queued:
    """The queue's answer: this user's jobs with the comment, and the ids of all.

    ``certain``: squeue did not complain, so that a job that it does not show is not there.
    """

    jobs: Tuple[JobRecord, ...]
    ids: Collection[int]
    certain: bool


@dataclass(frozen=True)
class Past:
    """Accounting's answer about jobs that have ended.

    ``jobs`` carry the comment. ``doubtful`` have the submission's job name and no comment that
    tells. ``silence`` says why accounting can't tell, "" if it can.
    """

    jobs: Tuple[int, ...] = ()
    doubtful: Tuple[int, ...] = ()
    silence: str = ""


def read_queued(run: Run, user: str, comment: str) -> Queued:
    """Look for a comment among a user's jobs in the queue. Raises SlurmError."""
    queue = read_queue(run, Selection(users=(user,)))
    mine = tuple(one for one in queue.records if one.comment == comment and not was_refused(one))
    ids = frozenset(one.job_id for one in queue.records)
    return Queued(mine, ids, not queue.warnings)


def was_refused(record: JobRecord) -> bool:
    """Whether it is what slurmctld keeps of a job that it refused to take.

    A request that no configuration can fulfil is answered with an error, and leaves a record that
    has failed in the second it was submitted (24.11.5).
    """
    return (
        record.state.base is Base.FAILED
        and record.reason == "BadConstraints"
        and isinstance(record.submit_time, int)
        and record.end_time == record.submit_time
    )


def read_past(
    run: Run, user: str, comment: str, name: str, kept: Answer, since: int, until: int
) -> Past:
    """Look for a comment among a user's jobs in accounting that ended after ``since``.

    ``name`` is the job's name; ``kept`` says whether accounting stores comments. Never raises.
    """
    delimiter = fresh_marks().separator
    reply = run(PROGRAM, *_arguments(user, delimiter, since, until))
    try:
        if reply.status != 0 or reply.timed_out or reply.not_started:
            raise as_error(shortened(reply), "read accounting")
        rows = list(parse_executions(reply.stdout, delimiter, False))
    except SlurmError as error:
        return Past(silence=error.message)
    return past_from(rows, comment, name, kept)


def _arguments(user: str, delimiter: str, since: int, until: int) -> Tuple[str, ...]:
    return (
        "--allocations",
        "--duplicates",
        "--noheader",
        "--parsable",
        "--local",
        "--delimiter=" + delimiter,
        "--user=" + user,
        "--state=" + _STATES,
        "--starttime=uts%d" % since,
        "--endtime=uts%d" % until,
        "--format=" + ",".join(FIELDS),
    )


def past_from(rows: Sequence[Execution], comment: str, name: str, kept: Answer) -> Past:
    """What rows of ended executions say. Pure."""
    jobs: Dict[int, None] = {}
    doubtful: Dict[int, None] = {}
    for row in rows:
        if _row_was_refused(row):
            continue
        if row.comment == comment:
            jobs[row.job_id] = None
        elif kept is not Answer.YES and row.name == name and not row.comment:
            doubtful[row.job_id] = None
    return Past(tuple(jobs), tuple(one for one in doubtful if one not in jobs))


def _row_was_refused(row: Execution) -> bool:
    """See :func:`was_refused`; accounting keeps no reason."""
    return (
        row.state.base is Base.FAILED
        and row.exit_code == ExitCode(1, 0)
        and row.node_list in ("", "None assigned")
        and isinstance(row.submit_time, int)
        and row.end_time == row.submit_time
    )


@dataclass(frozen=True)
class Finding:
    """What is known about a submission before anything is sent.

    ``jobs`` are those that it became, none when it is not known to be one. ``doubt`` says why it
    is not known either that it is none, "" if it is.
    """

    jobs: Mapping[int, Where]
    doubt: str = ""

    @property
    def job(self) -> Optional[int]:
        """The one job, None when there is none, or several."""
        return next(iter(self.jobs)) if len(self.jobs) == 1 else None


def several(jobs: Collection[int], what: str) -> str:
    """The reason when a submission is more than one job."""
    ids = ", ".join(map(str, sorted(jobs)))
    return "jobs %s are all %s: cancel all but one of them" % (ids, what)


def from_queue(queued: Queued, recorded: Recorded) -> Finding:
    """What the queue and the journal say; most often it is enough."""
    jobs = {one.job_id: Where.QUEUE for one in queued.jobs}
    for job_id in recorded.jobs:
        jobs.setdefault(job_id, Where.JOURNAL)
    return Finding(jobs)


def from_past(past: Past, recorded: Recorded, trust_journal: bool) -> Finding:
    """What accounting adds, where queue and journal know of no job.

    An earlier attempt to submit it, of which it is not known what became, can have been a job that
    slurmctld has forgotten: then only accounting can tell, and the journal is no proof.
    """
    if past.jobs:
        return Finding(dict.fromkeys(past.jobs, Where.ACCOUNTING))
    doubts: List[str] = []
    if past.doubtful:
        ids = ", ".join(map(str, past.doubtful[:5]))
        doubts.append("job %s has its name, and accounting keeps no comment that tells" % ids)
    elif past.silence and recorded.open:
        doubts.append("an earlier run may have submitted it, and accounting does not tell")
    elif past.silence and not trust_journal:
        doubts.append(
            "it may have been submitted, have ended and be forgotten, and accounting does not tell"
            " (%s)" % past.silence
        )
    return Finding({}, "; ".join(doubts))
