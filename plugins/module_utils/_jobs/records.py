# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the controller says about jobs, typed. Private to the collection."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    printable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import (
    INFINITE,
    Limit,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs import fields, hold
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.exits import (
    ExitCode,
    parse_exit_code,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.fields import Moment
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hosts import expand_hosts
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import (
    IdKind,
    JobId,
    task_spans,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import (
    Coarse,
    JobState,
    parse_state,
)

#: squeue's fields behind a record, in its order. All of them exist from 22.05 to 26.05.
FIELDS = (
    "JobID",
    "ArrayJobID",
    "ArrayTaskID",
    "HetJobID",
    "HetJobOffset",
    "State",
    "Reason",
    "EligibleTime",
    "StartTime",
    "EndTime",
    "SubmitTime",
    "Requeue",
    "RestartCnt",
    "PriorityLong",
    "Nice",
    "exit_code",
    "BatchFlag",
    "TimeLimit",
    "UserName",
    "Account",
    "Partition",
    "QOS",
    "Reservation",
    "NodeList",
    "Name",
    "Comment",
)
_ABSENT = frozenset(("N/A", ""))
_NULL = "(null)"
_NOTHING: Mapping[str, str] = {}
#: MAX_FED_JOB_ID (slurm/slurm.h): no job has this number or a larger one.
_NO_JOB = 0xFFFFFFFD


@dataclass(frozen=True)
class JobRecord:
    """One job, array task or component as squeue shows it.

    Times are epoch seconds, None (not set) or "unknown"; limits are seconds, None, "infinite" or
    "unknown". ``job_id`` is the record's own number; the tasks of an array that have not been split
    off share the array's. ``comment`` is None for a job without one (and for a job whose comment is
    the text ``(null)``, which squeue prints for both); an account, QOS or reservation that isn't
    there is "". ``extra`` holds the text of fields asked for beside :data:`FIELDS`, by name, and
    ``row`` the texts of all fields as squeue printed them. Texts can hold surrogate escapes: print
    them with :func:`printable`.
    """

    job_id: int
    array_job_id: Optional[int]
    array_tasks: Tuple[range, ...]
    het_job_id: Optional[int]
    het_offset: Optional[int]
    state: JobState
    reason: str
    eligible_time: Moment
    start_time: Moment
    end_time: Moment
    submit_time: Moment
    requeue: Answer
    restarts: Limit
    priority: Limit
    nice: Limit
    exit_code: Union[ExitCode, str, None]
    batch: Answer
    time_limit: Limit
    user: str
    account: str
    partition: str
    qos: str
    reservation: str
    node_list: str
    name: str
    comment: Optional[str]
    extra: Mapping[str, str]
    row: Tuple[str, ...]

    @property
    def array_task_id(self) -> Optional[int]:
        """The task's number; None for a job that is no array task, or stands for several."""
        return only_task(self.array_tasks)

    @property
    def id_text(self) -> str:
        """The id that addresses just this record: ``N``, ``A_T`` or ``L+C``."""
        return address(
            self.job_id,
            self.array_job_id,
            self.array_task_id,
            self.het_job_id,
            self.het_offset,
        )

    @property
    def gate(self) -> Answer:
        """Whether the gate is closed (state PENDING or SPECIAL_EXIT, priority 0)."""
        return hold.gate_closed(self.state, self.priority)

    @property
    def hold_kind(self) -> Optional[hold.HoldKind]:
        """Who may open the gate; None when it is open."""
        return hold.hold_kind(self.gate, self.reason)

    @property
    def hold_instance(self) -> hold.Instance:
        """The instance of the hold in place, None for none, or "unknown"."""
        return hold.decode_hold(self.eligible_time)

    def was_submitted_at(self, submitted: Moment) -> bool:
        """Whether it is the job that had this submit time, and not a later one with its number.

        A requeue sets the submit time anew when the execution is over, and has raised the restart
        count before that: the two don't tell together. A job that is new has not been restarted. A
        slurmctld that was killed may have forgotten a requeue, and shows the submit time before it.
        True where a submit time is not known.
        """
        if not isinstance(submitted, int) or not isinstance(self.submit_time, int):
            return True
        return self.submit_time <= submitted or self.restarts != 0

    @property
    def ending(self) -> Answer:
        """Whether the job has ended, or is about to and won't run again by itself.

        COMPLETING stands for both. Of a job that was requeued, squeue shows the end as it would be
        if it ran to its limit (22.05 to 26.05); of one that ended, the end. Without a limit it
        shows NONE for an end that its own clock has not reached, as is that of a job that ended
        where slurmctld's clock is ahead.
        """
        if self.state.coarse is Coarse.ENDED:
            return Answer.YES
        if self.state.coarse is not Coarse.UNKNOWN:
            return Answer.NO
        if self.state.flags != ("COMPLETING",):
            return Answer.UNKNOWN
        if self.time_limit == INFINITE:
            return Answer.YES if isinstance(self.end_time, int) else Answer.UNKNOWN
        start, end, limit = self.start_time, self.end_time, self.time_limit
        if not (isinstance(start, int) and isinstance(end, int) and isinstance(limit, int)):
            return Answer.UNKNOWN
        return Answer.YES if end - start < limit else Answer.UNKNOWN

    @property
    def nodes(self) -> Tuple[str, ...]:
        """The nodes allocated; ValueError when the list cannot be read."""
        return expand_hosts(self.node_list)


def record_from(values: Sequence[str], extra: Sequence[str] = ()) -> JobRecord:
    """The record of one row: values of :data:`FIELDS`, then those of the ``extra`` fields.

    Raises ValueError, with the value, when the ids are none. Any other value that cannot be read
    is "unknown" in the record.
    """
    row = iter(values)
    numbers = read_ids(next(row), next(row), next(row), next(row), next(row))
    return JobRecord(
        *numbers,
        state=parse_state(next(row)),
        reason=next(row),
        eligible_time=fields.moment(next(row)),
        start_time=fields.moment(next(row)),
        end_time=fields.moment(next(row)),
        submit_time=fields.moment(next(row)),
        requeue=fields.flag(next(row)),
        restarts=fields.number(next(row)),
        priority=fields.number(next(row)),
        nice=fields.number(next(row)),
        exit_code=parse_exit_code(next(row)),
        batch=fields.flag(next(row)),
        time_limit=fields.limit(next(row)),
        user=next(row),
        account=name_or_empty(next(row)),
        partition=next(row),
        qos=name_or_empty(next(row)),
        reservation=name_or_empty(next(row)),
        node_list=next(row),
        name=next(row),
        comment=comment_or_none(next(row)),
        extra=dict(zip(extra, row)) if extra else _NOTHING,
        row=tuple(values),
    )


Ids = Tuple[int, Optional[int], Tuple[range, ...], Optional[int], Optional[int]]


def read_ids(job: str, array: str, tasks: str, het_job: str, het_offset: str) -> Ids:
    """The numbers in a row's five id fields: those with which a JobRecord begins.

    Raises ValueError, with the value, when they are none.
    """
    job_id, spans = _job_number(job), _array_tasks(tasks)
    array_job_id = _job_number(array) if spans else None
    return job_id, array_job_id, spans, _optional_number(het_job), _optional_number(het_offset)


def only_task(spans: Sequence[range]) -> Optional[int]:
    """The one array task in these ranges, None for none and for several."""
    if len(spans) == 1 and len(spans[0]) == 1:
        return spans[0].start
    return None


def address(
    job_id: int,
    array_job_id: Optional[int],
    task: Optional[int],
    het_job_id: Optional[int],
    het_offset: Optional[int],
) -> str:
    """The id that addresses just one record: ``N``, ``A_T`` or ``L+C``."""
    if task is not None:
        return "%d_%d" % (array_job_id or job_id, task)
    if het_job_id is not None and het_offset is not None:
        return "%d+%d" % (het_job_id, het_offset)
    return str(job_id)


def comment_or_none(text: str) -> Optional[str]:
    """A comment as squeue prints it, None for a job without one."""
    return None if text == _NULL else text


def name_or_empty(text: str) -> str:
    """An account, a QOS or a reservation as squeue prints it, "" for a job without one."""
    return "" if text == _NULL else text


def _array_tasks(text: str) -> Tuple[range, ...]:
    return () if text in _ABSENT else task_spans(text)[0]


def _job_number(text: str) -> int:
    number = _optional_number(text)
    if not number or number >= _NO_JOB:
        raise ValueError("not a job's number: %r" % (printable(text),))
    return number


def _optional_number(text: str) -> Optional[int]:
    if text in _ABSENT:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 10):
        raise ValueError("not a job's number: %r" % (printable(text),))
    return int(text)


@dataclass(frozen=True)
class JobLookup:
    """What the controller knows of one id that was asked for.

    ``records`` are several for an array, for a heterogeneous job, and for a list of tasks.
    ``trusted`` is False when squeue answered, but complained: what it left out is then not known to
    be missing. ``rows`` are all records of the answer, by their own number, which the tasks of an
    array share until they are split off. An id without a record is not a job that ended, let alone
    ended well: the controller forgets jobs after MinJobAge, and with PrivateData=jobs it hides
    other users' living ones.
    """

    asked: JobId
    records: Tuple[JobRecord, ...]
    trusted: bool = True
    rows: Mapping[int, Sequence[JobRecord]] = field(default_factory=dict)

    @property
    def known(self) -> Answer:
        """Whether the controller shows a record of the job."""
        if self.records:
            return Answer.YES
        return Answer.NO if self.trusted else Answer.UNKNOWN

    @property
    def failure(self) -> FailureClass:
        """JOB_UNKNOWN for an id without a record, otherwise NONE."""
        return FailureClass.JOB_UNKNOWN if self.known is Answer.NO else FailureClass.NONE

    @property
    def record(self) -> Optional[JobRecord]:
        """The one record, None for none and for several."""
        return self.records[0] if len(self.records) == 1 else None

    @property
    def live(self) -> Answer:
        """Whether any of it is not yet in a final state. Unknown without a record."""
        answers = {record.state.live for record in self.records}
        if Answer.YES in answers:
            return Answer.YES
        return Answer.NO if answers == {Answer.NO} else Answer.UNKNOWN

    @property
    def succeeded(self) -> Answer:
        """Whether all of it ended well. Unknown without a record.

        An array that shows nothing but successes is unknown: tasks that ended earlier may be
        forgotten already. A het job's components are forgotten together.
        """
        answers = {record.state.succeeded for record in self.records}
        if Answer.NO in answers:
            return Answer.NO
        if answers != {Answer.YES} or self.may_lack_tasks:
            return Answer.UNKNOWN
        return Answer.YES

    @property
    def may_lack_tasks(self) -> bool:
        """Whether array tasks that the id means may have ended and be forgotten already."""
        shown = sum(len(span) for record in self.records for span in record.array_tasks)
        if self.asked.kind is IdKind.JOB:
            return any(
                record.array_job_id == self.asked.job and record.array_tasks
                for record in self.records
            )
        return shown < self.asked.task_count


class RecordIndex:
    """Records by the ids that address them, and ``rows``, by their own numbers."""

    def __init__(self, records: Iterable[JobRecord]) -> None:
        self._jobs: Dict[int, List[JobRecord]] = {}
        self._tasks: Dict[Tuple[int, int], List[JobRecord]] = {}
        self._groups: Dict[int, List[JobRecord]] = {}
        self._components: Dict[Tuple[int, int], List[JobRecord]] = {}
        self.rows: Dict[int, List[JobRecord]] = {}
        for record in records:
            self._add(record)

    def _add(self, record: JobRecord) -> None:
        self.rows.setdefault(record.job_id, []).append(record)
        for job in dict.fromkeys((record.job_id, record.array_job_id, record.het_job_id)):
            if job is not None:
                self._jobs.setdefault(job, []).append(record)
        if record.array_job_id is not None and record.array_task_id is not None:
            key = (record.array_job_id, record.array_task_id)
            self._tasks.setdefault(key, []).append(record)
        elif record.array_job_id is not None:
            self._groups.setdefault(record.array_job_id, []).append(record)
        if record.het_job_id is not None and record.het_offset is not None:
            key = (record.het_job_id, record.het_offset)
            self._components.setdefault(key, []).append(record)

    def of(self, job_id: JobId) -> Tuple[JobRecord, ...]:
        """The records that an id addresses, as scontrol would: an array's id means every task, a
        leader's every component, a task's own number that task.
        """
        job = job_id.job or 0
        if job_id.kind is IdKind.JOB:
            return tuple(self._jobs.get(job, ()))
        if job_id.kind is IdKind.HET_COMPONENT:
            return tuple(self._components.get((job, job_id.component or 0), ()))
        if job_id.kind is IdKind.ARRAY_TASK and job_id.task is not None:
            found = list(self._tasks.get((job, job_id.task), ()))
        elif job_id.kind is IdKind.ARRAY_TASKS:
            found = [
                record
                for record in self._jobs.get(job, ())
                if record.array_task_id is not None and job_id.names_task(record.array_task_id)
            ]
        else:
            return ()
        groups = self._groups.get(job, ())
        return tuple(found) + tuple(row for row in groups if _shares_task(row, job_id))


def _shares_task(record: JobRecord, job_id: JobId) -> bool:
    """Whether a row that stands for several tasks holds one of those named."""
    return any(_overlap(span, asked) for span in record.array_tasks for asked in job_id.spans)


def _overlap(one: range, other: range) -> bool:
    shorter, longer = (one, other) if len(one) <= len(other) else (other, one)
    return any(task in longer for task in shorter)
