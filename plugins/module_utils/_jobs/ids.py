# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Job ids: what they name, and whether a job may be acted on by them. Private to the collection."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Iterable, List, Optional, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    SlurmError,
    printable,
)

#: Largest id that a job is looked up or changed by. Slurm's own limit is 0xfffffffc
#: (MAX_FED_JOB_ID in slurm/slurm.h), but squeue of 24.11 and older reads ids into an int and ends a
#: whole list with an error for one beyond (seen on 22.05.8 and 24.11.5). An id of one cluster ends
#: at MaxJobId, 67043328 unless slurm.conf(5) says otherwise; the bits above 25 carry the cluster
#: in a federation.
MAX_JOB_ID = 0x7FFFFFFF
#: MaxArraySize is at most 4000001 (src/common/read_config.c), and tasks are numbered from 0.
MAX_TASK_ID = 4000000
#: MAX_HET_JOB_COMPONENTS is 128 (slurm/slurm.h), and components are numbered from 0.
MAX_COMPONENT = 127
#: So many tasks are listed one by one; more stay ranges.
MAX_LISTED_TASKS = 1000000
#: The first release whose commands take an SLUID for a job id (seen on 26.05.5, not on 25.11.8).
SLUID_SINCE = "26.05"

_NUMBER = r"(?:0|[1-9][0-9]{0,9})"
_ID = re.compile(
    r"(?P<job>[1-9][0-9]{0,9})"
    r"(?:_(?:(?P<task>%(n)s)|\[(?P<tasks>[0-9:,%%-]*)\])|\+(?P<component>%(n)s))?"
    r"(?:\.(?P<step>batch|extern|interactive|TBD|%(n)s)(?:\+%(n)s)?)?" % {"n": _NUMBER}
)
#: squeue ends a long list with three dots or stops; sacct ends a narrow column with a plus sign.
_CUT_OFF = re.compile(r"([1-9][0-9]{0,9})_\[[0-9:,%-]*(?:\+|\.{1,3}(?:%[0-9]*)?\]?)?")
_SPAN = re.compile(r"(%(n)s)(?:-(%(n)s)(?::([1-9][0-9]{0,9}))?)?" % {"n": _NUMBER})
_SLUID = re.compile(r"s[0-9A-HJKMNP-TV-Z]{13}")  # the alphabet of src/common/sluid.c


class IdKind(str, Enum):
    """What an id names."""

    JOB = "job"
    ARRAY_TASK = "array_task"
    ARRAY_TASKS = "array_tasks"
    HET_COMPONENT = "het_component"
    STEP = "step"
    SLUID = "sluid"
    INVALID = "invalid"


_ACTED_ON = frozenset((IdKind.JOB, IdKind.ARRAY_TASK, IdKind.ARRAY_TASKS, IdKind.HET_COMPONENT))


@dataclass(frozen=True)
class JobId:
    """One id as it was written, and what it says.

    ``job`` is the number that commands are asked with: the array's or the leader's id, if there is
    one. ``spans`` are the array tasks named, as ranges, so that no expression costs memory;
    ``limit`` is the number behind ``%``. ``failure`` is NONE, ID_MALFORMED, or OUTPUT_UNREADABLE
    for an expression that was cut off; ``reason`` says why in words.
    """

    text: str
    kind: IdKind
    job: Optional[int] = None
    spans: Tuple[range, ...] = ()
    limit: Optional[int] = None
    component: Optional[int] = None
    step: Optional[str] = None
    failure: FailureClass = FailureClass.NONE
    reason: str = ""

    @property
    def may_be_acted_on(self) -> Answer:
        """Whether a job may be changed or looked up by this id."""
        whole = self.failure is FailureClass.NONE and self.kind in _ACTED_ON
        return Answer.YES if whole else Answer.NO

    @property
    def complete(self) -> Answer:
        """Whether everything that the id stood for is known."""
        return Answer.YES if self.failure is FailureClass.NONE else Answer.NO

    @property
    def task(self) -> Optional[int]:
        """The one array task named, None for none and for several."""
        return self.spans[0].start if self.task_count == 1 else None

    @property
    def task_count(self) -> int:
        """How many tasks the ranges hold (a task named twice counts twice)."""
        return sum(len(span) for span in self.spans)

    def names_task(self, task: int) -> bool:
        """Whether this array task is one of those named."""
        return any(task in span for span in self.spans)

    def tasks(self, limit: int = MAX_LISTED_TASKS) -> Tuple[int, ...]:
        """The tasks named, ascending; :class:`SlurmError` for more than ``limit`` of them."""
        if self.task_count > limit:
            raise SlurmError(
                "%s names more than %d array tasks" % (printable(self.text), limit),
                FailureClass.ID_MALFORMED,
                remedy="Name the whole array by its id, or fewer tasks at a time",
            )
        return tuple(sorted({task for span in self.spans for task in span}))

    def each_task(self) -> Tuple[JobId, ...]:
        """This id, or one id a task when it names several."""
        if self.kind is not IdKind.ARRAY_TASKS:
            return (self,)
        return tuple(parse_job_id("%s_%d" % (self.job, task)) for task in self.tasks())


def parse_job_id(text: str) -> JobId:
    """Read one id in any form that Slurm prints or takes. Never raises.

    Forms: ``N``, ``N_T``, ``N_[T-U:S,V%L]``, ``N+C``, each but the third with a step behind a dot,
    and the SLUID (``s`` and 13 characters). Decimal without sign, blank or leading zero only: other
    spellings are read differently by different releases.
    """
    match = _ID.fullmatch(text)
    if match:
        return _from_match(text, match)
    if _SLUID.fullmatch(text):
        return JobId(
            text,
            IdKind.SLUID,
            failure=FailureClass.ID_MALFORMED,
            reason="an SLUID is an id from Slurm %s on only; use the job's number" % SLUID_SINCE,
        )
    cut = _CUT_OFF.fullmatch(text)
    if cut and int(cut.group(1)) <= MAX_JOB_ID:
        return JobId(
            text,
            IdKind.ARRAY_TASKS,
            job=int(cut.group(1)),
            failure=FailureClass.OUTPUT_UNREADABLE,
            reason="the list of array tasks was cut off",
        )
    return _invalid(text, "not a job id")


def _invalid(text: str, reason: str) -> JobId:
    return JobId(text, IdKind.INVALID, failure=FailureClass.ID_MALFORMED, reason=reason)


def _from_match(text: str, match: re.Match[str]) -> JobId:
    job = int(match.group("job"))
    if job > MAX_JOB_ID:
        return _invalid(text, "no job id is larger than %d" % MAX_JOB_ID)
    component = _optional(match.group("component"))
    if component is not None and component > MAX_COMPONENT:
        return _invalid(text, "no heterogeneous job has a component %d" % component)
    expression = match.group("tasks")
    try:
        spans, limit = task_spans(expression or match.group("task") or "", expression is not None)
    except ValueError as error:
        return _invalid(text, str(error))
    step = match.group("step")
    if step is not None and expression is not None:
        return _invalid(text, "a step belongs to one array task")
    if step is not None:
        reason = "a step is not a job"
        named = JobId(text, IdKind.STEP, job, spans, limit, component, step)
        return _refused(named, reason)
    if expression is not None:
        kind = IdKind.ARRAY_TASKS
    elif spans:
        kind = IdKind.ARRAY_TASK
    else:
        kind = IdKind.JOB if component is None else IdKind.HET_COMPONENT
    return JobId(text, kind, job, spans, limit, component)


def _refused(job_id: JobId, reason: str) -> JobId:
    return JobId(
        job_id.text,
        job_id.kind,
        job_id.job,
        job_id.spans,
        job_id.limit,
        job_id.component,
        job_id.step,
        FailureClass.ID_MALFORMED,
        reason,
    )


def _optional(text: Optional[str]) -> Optional[int]:
    return None if text is None else int(text)


def task_spans(text: str, needed: bool = True) -> Tuple[Tuple[range, ...], Optional[int]]:
    """The ranges of ``3-5,9,20-40:5%2`` and the number behind ``%``.

    This is what squeue's ArrayTaskID, the brackets of an id, and scontrol's replies hold
    (xlate_array_task_str() in src/common/slurm_protocol_defs.c). Raises ValueError for anything
    else; an empty text is an error if a list is ``needed``.
    """
    if not text and not needed:
        return (), None
    listed, percent, tail = text.partition("%")
    if percent and not re.fullmatch(_NUMBER, tail):
        raise ValueError("unreadable limit of array tasks: %r" % (tail,))
    return tuple(_span(part) for part in listed.split(",")), int(tail) if percent else None


def _span(text: str) -> range:
    match = _SPAN.fullmatch(text)
    if not match:
        raise ValueError("unreadable array task: %r" % (text,))
    first = int(match.group(1))
    last = int(match.group(2) or first)
    if last < first:
        raise ValueError("array tasks %d-%d run backwards" % (first, last))
    if last > MAX_TASK_ID:
        raise ValueError("no array task is larger than %d" % MAX_TASK_ID)
    return range(first, last + 1, int(match.group(3) or 1))


def require_job_ids(texts: Iterable[str]) -> List[JobId]:
    """The ids, in order. Raises :class:`SlurmError` as :func:`refuse_others` does."""
    ids = [parse_job_id(text) for text in texts]
    refuse_others(ids)
    return ids


def refuse_others(ids: Iterable[JobId]) -> None:
    """Raise a :class:`SlurmError` that names every id that may not be acted on, if there are any.

    To be called before anything is run. The class is ID_MALFORMED, or OUTPUT_UNREADABLE if
    expressions that were cut off are all that is wrong.
    """
    refused = [job_id for job_id in ids if job_id.may_be_acted_on is not Answer.YES]
    if not refused:
        return
    malformed = any(job_id.failure is FailureClass.ID_MALFORMED for job_id in refused)
    raise SlurmError(
        "No job is named by %s"
        % ", ".join("%r (%s)" % (printable(job_id.text), job_id.reason) for job_id in refused[:10]),
        FailureClass.ID_MALFORMED if malformed else FailureClass.OUTPUT_UNREADABLE,
        remedy="Use a job's number, N_T for an array task, or N+C for a component",
        evidence={"refused_ids": [printable(job_id.text) for job_id in refused]},
    )
