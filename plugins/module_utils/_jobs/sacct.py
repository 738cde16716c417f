# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading jobs' executions with sacct. Private to the collection.

Accounting lags behind the controller (22.05 by seconds, also with the row of a requeued job's new
execution), and no row is no answer: neither that the job is gone nor that it never was.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Dict, Iterator, List, Optional, Sequence, Tuple, Union

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Run
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.failures import (
    REMEDIES,
    as_error,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    Reply,
    SlurmError,
    printable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import Limit
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs import fields
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.exits import (
    ExitCode,
    parse_exit_code,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.fields import Moment
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hosts import expand_hosts
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import (
    IdKind,
    JobId,
    parse_job_id,
    refuse_others,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import (
    fresh_marks,
    sacct_rows,
    shortened,
    unreadable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import chunks
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import (
    Coarse,
    JobState,
    parse_accounting_state,
)

PROGRAM = "sacct"

#: sacct's fields behind an execution, in its order. All exist from 22.05 to 26.05.
FIELDS = (
    "JobIDRaw",
    "JobID",
    "State",
    "ExitCode",
    "Submit",
    "Eligible",
    "Start",
    "End",
    "Elapsed",
    "Timelimit",
    "User",
    "Group",
    "Account",
    "Partition",
    "QOS",
    "Reservation",
    "NodeList",
    "Reason",
    "JobName",
    "Comment",
)
#: Not known to 22.05, which refuses the whole call for it.
RESTARTS = "Restarts"

#: The window, spelt without a time zone. sacct(1) begins it at midnight unless ids are given, and
#: always ends it at the "now" of the host that asks, whose clock may be behind: a job submitted
#: since then would be hidden. uts1000000 is the earliest time that parse_time() takes as a number.
EARLIEST = 1000000
LATEST = 4102444800

#: Job rows only, each execution of a requeued job for itself, a delimiter behind the last value
#: too, this cluster only (sacct(1)).
_ALWAYS = ("--allocations", "--duplicates", "--noheader", "--parsable", "--local")

_FIELD_REFUSED = re.compile(r'sacct: error: Invalid field requested: "%s"' % RESTARTS)


@dataclass(frozen=True)
class Execution:
    """One execution of a job as accounting has it.

    Values as in a JobRecord; ``restarts`` is the execution's number, None where the release does
    not record it. ``comment`` is empty until the execution has ended, and always without
    AccountingStoreFlags=job_comment.
    """

    job_id: int
    id: JobId
    state: JobState
    exit_code: Union[ExitCode, str, None]
    submit_time: Moment
    eligible_time: Moment
    start_time: Moment
    end_time: Moment
    elapsed: Limit
    time_limit: Limit
    user: str
    group: str
    account: str
    partition: str
    qos: str
    reservation: str
    node_list: str
    reason: str
    name: str
    comment: str
    restarts: Limit

    @property
    def ended(self) -> Answer:
        """Whether this execution is over; a requeued one is, though its job is not."""
        if self.state.flags == ("REQUEUED",):
            return Answer.YES
        if self.state.coarse is Coarse.UNKNOWN:
            return Answer.UNKNOWN
        return Answer.YES if self.state.coarse is Coarse.ENDED else Answer.NO

    @property
    def live(self) -> Answer:
        """Whether what the row stands for is not yet in a final state.

        Unknown for the row of an array's tasks that wait: it still names tasks that were cancelled
        or started meanwhile, for seconds (24.11.5, 26.05.5) or until they end (22.05.8).
        """
        if self.id.kind is IdKind.ARRAY_TASKS and self.state.live is Answer.YES:
            return Answer.UNKNOWN
        return self.state.live

    @property
    def nodes(self) -> Tuple[str, ...]:
        """The nodes of the execution; ValueError when the list cannot be read."""
        return expand_hosts(self.node_list)


@dataclass(frozen=True)
class History:
    """What accounting has of one id that was asked for: its executions, oldest first.

    With ids that were used before (after a reset of the job numbers) older jobs' executions stand
    first; ask with ``since`` to leave them out.
    """

    asked: JobId
    executions: Tuple[Execution, ...]
    warnings: Tuple[str, ...] = ()

    @property
    def latest(self) -> Tuple[Execution, ...]:
        """The newest row of each job, task and component."""
        newest: Dict[int, Execution] = {}
        for execution in self.executions:
            newest[execution.job_id] = execution
        return tuple(newest.values())

    @property
    def live(self) -> Answer:
        """Whether any of it is not yet in a final state, as far as accounting has heard."""
        answers = {execution.live for execution in self.latest}
        if Answer.YES in answers:
            return Answer.YES
        return Answer.NO if answers == {Answer.NO} else Answer.UNKNOWN

    @property
    def succeeded(self) -> Answer:
        """Whether all of it ended well; unknown without a row.

        Several rows that all ended well are unknown: rows can be missing for some seconds.
        """
        answers = {execution.state.succeeded for execution in self.latest}
        if Answer.NO in answers:
            return Answer.NO
        return Answer.YES if answers == {Answer.YES} and len(self.latest) == 1 else Answer.UNKNOWN


class Accounting:
    """Asks sacct, and remembers whether it knows the field Restarts."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._asks_restarts = True

    def histories(self, ids: Sequence[JobId], since: int = EARLIEST) -> Dict[str, History]:
        """One history for every id, by its text.

        ``since`` (epoch seconds) leaves out executions that ended earlier. Raises
        :class:`SlurmError`: ID_MALFORMED before anything is run, ACCOUNTING_DISABLED,
        ACCOUNTING_UNREACHABLE (also for our own time limit), OUTPUT_UNREADABLE, or another class
        of failure.
        """
        refuse_others(ids)
        found: Dict[str, History] = {}
        for chunk in chunks(ids):
            found.update(self._read(chunk, since))
        return found

    def _read(self, ids: Sequence[JobId], since: int) -> Dict[str, History]:
        while True:
            asked = self._asks_restarts
            delimiter = fresh_marks().separator
            reply = self._run(PROGRAM, *arguments(ids, delimiter, since, asked))
            if not (asked and refuses_restarts(reply)):
                return histories_from(reply, ids, delimiter, asked)
            self._asks_restarts = False


def arguments(
    ids: Sequence[JobId], delimiter: str, since: int = EARLIEST, restarts: bool = True
) -> Tuple[str, ...]:
    """The arguments that read these ids (at least one). Tasks and components are asked for by the
    array's or the leader's number and picked out of the answer.
    """
    wanted = (*FIELDS, RESTARTS) if restarts else FIELDS
    return (
        *_ALWAYS,
        "--delimiter=" + delimiter,
        "--starttime=uts%d" % max(since, EARLIEST),
        "--endtime=uts%d" % LATEST,
        "--format=" + ",".join(wanted),
        "--jobs=" + ",".join(dict.fromkeys(str(job_id.job) for job_id in ids)),
    )


def refuses_restarts(reply: Reply) -> bool:
    """Whether sacct does not know the field Restarts (22.05: exit 1, no row)."""
    return reply.status != 0 and any(
        _FIELD_REFUSED.fullmatch(line.strip()) for line in reply.err.splitlines()
    )


def histories_from(
    reply: Reply, ids: Sequence[JobId], delimiter: str, restarts: bool
) -> Dict[str, History]:
    """Judge one reply to :func:`arguments`. Pure; errors as in :meth:`Accounting.histories`."""
    if reply.status != 0 or reply.timed_out or reply.not_started:
        raise _failed_read(reply)
    warnings = tuple(printable(line) for line in reply.err.splitlines() if line.strip())
    try:
        executions = sorted(parse_executions(reply.stdout, delimiter, restarts), key=_age)
    except SlurmError as error:
        error.reply = shortened(reply)
        raise
    by_number: Dict[int, List[Execution]] = {}
    for execution in executions:
        for number in dict.fromkeys((execution.job_id, execution.id.job or 0)):
            by_number.setdefault(number, []).append(execution)
    return {
        job_id.text: History(
            job_id,
            tuple(row for row in by_number.get(job_id.job or 0, ()) if _belongs(row, job_id)),
            warnings,
        )
        for job_id in ids
    }


def _failed_read(reply: Reply) -> SlurmError:
    error = as_error(replace(reply, stdout=b"") if reply.timed_out else reply, "read accounting")
    if error.failure is FailureClass.CONTROLLER_UNREACHABLE:  # sacct asks slurmdbd alone
        error.failure = FailureClass.ACCOUNTING_UNREACHABLE
        error.remedy = REMEDIES[error.failure]
    error.reply = shortened(reply)
    return error


def _age(execution: Execution) -> Tuple[int, int, int]:
    submit, restarts = execution.submit_time, execution.restarts
    return (
        submit if isinstance(submit, int) else 0,
        restarts if isinstance(restarts, int) else 0,
        execution.job_id,
    )


def _belongs(execution: Execution, asked: JobId) -> bool:
    """Whether an id means this row: an array's number every task, a leader's every component."""
    if asked.kind is IdKind.JOB:
        return True
    if execution.id.job != asked.job:
        return False
    if asked.kind is IdKind.HET_COMPONENT:
        return execution.id.component == asked.component
    if asked.kind is IdKind.ARRAY_TASK and asked.task is not None:
        return execution.id.names_task(asked.task)
    if execution.id.task is not None:
        return asked.names_task(execution.id.task)
    return any(execution.id.names_task(task) for task in asked.tasks())


def parse_executions(stdout: bytes, delimiter: str, restarts: bool) -> Iterator[Execution]:
    """The job rows in the output of a call with the arguments above; rows of steps are left out.

    Raises :class:`SlurmError` (OUTPUT_UNREADABLE, with the text) for anything that is no row.
    """
    for row in sacct_rows(stdout, delimiter, len(FIELDS) + restarts):
        execution = execution_from(row)
        if execution is None:
            raise unreadable("a row of sacct", " ".join(row))
        if execution.id.kind is not IdKind.STEP:
            yield execution


def execution_from(values: Sequence[str]) -> Optional[Execution]:
    """The execution of one row: values of :data:`FIELDS`, then Restarts if it was asked for.

    None when the ids are none or were cut off. Any other value that cannot be read is "unknown".
    """
    row = dict(zip(FIELDS, values))
    named, raw = parse_job_id(row["JobID"]), parse_job_id(row["JobIDRaw"])
    readable = (
        IdKind.JOB,
        IdKind.ARRAY_TASK,
        IdKind.ARRAY_TASKS,
        IdKind.HET_COMPONENT,
        IdKind.STEP,
    )
    if named.kind not in readable or named.job is None or raw.job is None:
        return None
    if named.failure is FailureClass.OUTPUT_UNREADABLE:
        return None
    return Execution(
        job_id=raw.job,
        id=named,
        state=parse_accounting_state(row["State"]),
        exit_code=parse_exit_code(row["ExitCode"]),
        submit_time=fields.moment(row["Submit"]),
        eligible_time=fields.moment(row["Eligible"]),
        start_time=fields.moment(row["Start"]),
        end_time=fields.moment(row["End"]),
        elapsed=fields.limit(row["Elapsed"]),
        time_limit=fields.limit(row["Timelimit"]),
        user=row["User"],
        group=row["Group"],
        account=row["Account"],
        partition=row["Partition"],
        qos=row["QOS"],
        reservation=row["Reservation"],
        node_list=row["NodeList"],
        reason=row["Reason"],
        name=row["JobName"],
        comment=row["Comment"],
        restarts=fields.number(values[len(FIELDS)]) if len(values) > len(FIELDS) else None,
    )
