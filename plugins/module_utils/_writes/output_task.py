# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module job_output_info does between its options and its result.

Private to the collection.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Run
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    read_configuration,
    store_flag,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import UNKNOWN
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import (
    IdKind,
    parse_job_id,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.outputs import (
    STREAMS,
    Wanted,
    complete,
    executions_there,
    position_from,
    read_output,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.sacct import Accounting
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import read_jobs
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.submission import (
    Submission,
    comment_of,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.journal import (
    REMEMBERED,
    Journal,
    Recorded,
    recorded,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.submissions import (
    from_past,
    from_queue,
    read_past,
    read_queued,
    several,
)

#: Seconds that the window of accounting goes beyond the host's clock, which may be behind.
AHEAD = 86400


@dataclass(frozen=True)
class JobSeen:
    """How far a job is: whether it has ended, and its newest execution, as far as it is known.

    ``shown``: whether slurmctld shows it.
    """

    ended: Answer
    shown: Answer
    state: str = UNKNOWN
    last: int = 0
    reason: str = ""


def read(run: Run, params: Mapping[str, Any], journal: Journal, user: str) -> Dict[str, Any]:
    """The module's result. Raises ValueError for its options, and SlurmError."""
    positions = {
        stream: position_from((params["offsets"] or {}).get(stream), stream)
        for stream in dict.fromkeys(params["streams"])
    }
    strangers = [name for name in positions if name not in STREAMS]
    if strangers or not positions:
        raise ValueError("streams has no use for %s" % ", ".join(strangers or ["nothing"]))
    if params["max_bytes"] < 1:
        raise ValueError("max_bytes is %d, and has to be 1 at least" % params["max_bytes"])
    job_id, directory = _job_and_directory(run, params, journal, user)
    # The job first: what it wrote before it was seen to have ended is there to be read.
    seen = look(run, job_id)
    last = max([seen.last, *executions_there(directory, job_id)])
    wanted = Wanted(directory, job_id, last, positions, params["max_bytes"])
    parts, ends = read_output(wanted)
    given = params["offsets"] or {}
    following = {name: value for name, value in given.items() if value and name not in ends}
    following.update({name: end.as_result() for name, end in ends.items()})
    return {
        "job_id": str(job_id),
        "output_dir": directory,
        "ended": seen.ended.value,
        "shown": seen.shown.value,
        "state": seen.state,
        "reason": seen.reason,
        "parts": [one.as_result() for one in parts],
        "complete": complete(parts),
        "next": following,
    }


def _job_and_directory(
    run: Run, params: Mapping[str, Any], journal: Journal, user: str
) -> Tuple[int, str]:
    directory = params["output_dir"]
    if params["job_id"] is not None:
        parsed = parse_job_id(params["job_id"])
        if parsed.kind is not IdKind.JOB or parsed.job is None:
            raise ValueError("job_id is no number of a job: %r" % params["job_id"])
        if not directory:
            raise ValueError("give output_dir with job_id")
        return parsed.job, directory
    job_id, known = find(run, params["submission"], params["attempt"], journal, user)
    directory = directory or known
    if not directory:
        raise ValueError(
            "job %d was not submitted from this host by this user: give output_dir" % job_id
        )
    return job_id, directory


def find(
    run: Run, submission: str, attempt: int, journal: Journal, user: str
) -> Tuple[int, Optional[str]]:
    """The job that a submission became, and its output directory if the journal knows it.

    Raises ValueError for a submission that can't be one, and SlurmError when it is no job, is not
    known to be one, or is several.
    """
    comment = comment_of(submission, attempt)
    name = Submission(submission, attempt).name
    configuration = read_configuration(run)
    queued = read_queued(run, user, comment)
    with journal:
        entries = journal.entries()
    known = recorded(entries, configuration.text("ClusterName") or "", comment)
    finding = from_queue(queued, known)
    if not finding.jobs:
        now = int(time.time())
        kept = store_flag(configuration, "job_comment")
        past = read_past(run, user, comment, "", kept, now - REMEMBERED, now + AHEAD)
        finding = from_past(past, Recorded({}, ()), False)
    if finding.job is not None:
        return finding.job, known.jobs.get(finding.job)
    if finding.jobs:
        raise SlurmError(several(finding.jobs, name), FailureClass.UNCLASSIFIED)
    if finding.doubt or not queued.certain or kept is not Answer.YES:
        why = finding.doubt or "accounting keeps no comments, or squeue complained"
        raise SlurmError(
            "It is not known which job %s is: %s" % (name, why),
            FailureClass.UNCLASSIFIED,
            remedy="Give job_id and output_dir",
        )
    raise SlurmError(
        "%s is no job of %s" % (name, user),
        FailureClass.JOB_UNKNOWN,
        remedy="Submit it with hpcops.slurm.job_submit, or read it as the user who did",
    )


def look(run: Run, job_id: int) -> JobSeen:
    """How far a job is. Never raises SlurmError: what can't be asked is unknown."""
    parsed = parse_job_id(str(job_id))
    yes, no, unknown = Answer.YES, Answer.NO, Answer.UNKNOWN
    try:
        lookup = read_jobs(run, [parsed])[parsed.text]
    except SlurmError as error:
        return JobSeen(unknown, unknown, reason=error.message)
    record = lookup.record
    if record is not None:
        ended = {yes: no, no: yes}.get(record.state.live, unknown)
        restarts = record.restarts if isinstance(record.restarts, int) else 0
        return JobSeen(ended, yes, record.state.word, restarts)
    if lookup.known is not no:
        return JobSeen(unknown, unknown, reason="squeue did not show it, and complained")
    gone = "slurmctld does not show the job"
    try:
        history = Accounting(run).histories([parsed])[parsed.text]
    except SlurmError as error:
        return JobSeen(unknown, no, reason="%s, and accounting: %s" % (gone, error.message))
    if history.live is not no:
        return JobSeen(unknown, no, reason="%s, and accounting has no end of it" % gone)
    newest = history.executions[-1]
    last = newest.restarts if isinstance(newest.restarts, int) else 0
    return JobSeen(yes, no, newest.state.word, last)


def unreadable(parts: Sequence[Mapping[str, Any]]) -> str:
    """What could not be read, on one line; "" if everything could, or is not there."""
    found = [
        "%s: %s" % (one["path"], one["reason"]) for one in parts if one["state"] == "unreadable"
    ]
    return "; ".join(found)
