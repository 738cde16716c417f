# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What accounting tells about jobs, in the words of a result. Private to the collection."""

from __future__ import annotations

import pwd
from typing import Any, Dict, List, Optional, Sequence

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    printable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs import fields
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.causes import (
    Cause,
    Window,
    cause_in_accounting,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import IdKind
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import JobRecord
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.sacct import Execution, History
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.shapes import after_loss
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import Base, Coarse
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.submission import parse_comment

#: Values that an execution has under the same name as a result.
_SAME = tuple(
    """reason submit_time eligible_time start_time end_time exit_code time_limit restarts user
    account partition qos reservation node_list name""".split()
)
#: What a result holds of an execution before the newest.
EARLIER = tuple(
    """restarts state raw_state coarse_state cause exit_code cancelled_by cancelled_by_uid
    submit_time start_time end_time node_list""".split()
)


def results_of(history: History, window: Window) -> List[Dict[str, Any]]:
    """What accounting has of an id that slurmctld does not show: one result a job, task, component.

    It is the newest execution; those before are in ``earlier_executions``, oldest first. A row that
    says that the job lives is no proof: slurmctld does not show it, and rows come late.
    """
    by_job: Dict[int, List[Execution]] = {}
    for execution in history.executions:
        by_job.setdefault(execution.job_id, []).append(execution)
    return [_result(_of_one_job(rows), window) for rows in by_job.values()]


def beside(record: JobRecord, history: History, window: Window) -> Dict[str, Any]:
    """Values that only accounting has, for a job that squeue shows.

    An execution is submitted when the one before has ended; so those that were submitted before
    what squeue shows are earlier ones. None for them when rows are missing still.
    """
    since = record.submit_time
    rows = [one for one in history.executions if one.job_id == record.job_id]
    made: Dict[str, Any] = {}
    if record.restarts != 0:
        before = [one for one in rows if _before(one, since)]
        count = record.restarts if isinstance(record.restarts, int) else 0
        whole = 0 < count <= len(before)
        made["earlier_executions"] = _numbered(before[-count:], window) if whole else None
    for one in rows:
        if one.submit_time == since and one.state.by_uid is not None:
            made.update(_canceller(one))
    return made


def _before(execution: Execution, since: fields.Moment) -> bool:
    submitted = execution.submit_time
    return isinstance(submitted, int) and isinstance(since, int) and submitted < since


def _of_one_job(rows: Sequence[Execution]) -> Sequence[Execution]:
    """The rows from the newest first execution on: a number can have been another job's before."""
    starts = [number for number, one in enumerate(rows) if one.restarts == 0]
    return rows[starts[-1] :] if starts else rows


def _result(rows: Sequence[Execution], window: Window) -> Dict[str, Any]:
    newest = rows[-1]
    made = _told(newest, window, over=False)
    ended = made["coarse_state"] == Coarse.ENDED.value
    comment = newest.comment or None
    found = parse_comment(comment)
    task = newest.id.kind in (IdKind.ARRAY_TASK, IdKind.ARRAY_TASKS)
    component = newest.id.kind is IdKind.HET_COMPONENT
    made.update(
        job_id=printable(newest.id.text),
        raw_id=newest.job_id,
        array_job_id=newest.id.job if task else None,
        array_task_id=newest.id.task,
        het_job_id=newest.id.job if component else None,
        het_offset=newest.id.component,
        gate=(Answer.NO if ended else Answer.UNKNOWN).value,
        hold_kind=None,
        hold_instance=None if ended else Answer.UNKNOWN.value,
        requeue=Answer.UNKNOWN.value,
        batch=Answer.UNKNOWN.value,
        priority=None,
        nice=None,
        comment=fields.plain(comment),
        submission=None if found is None else fields.plain(found.submission),
        attempt=None if found is None else found.attempt,
        earlier_executions=_earlier(rows[:-1], window),
        source="accounting",
    )
    return made


def _earlier(rows: Sequence[Execution], window: Window) -> List[Dict[str, Any]]:
    told = (_told(one, window, over=True) for one in rows)
    return [{name: values[name] for name in EARLIER} for values in told]


def _numbered(rows: Sequence[Execution], window: Window) -> List[Dict[str, Any]]:
    """All earlier executions of a job, whose numbers 22.05 does not record."""
    return [{**one, "restarts": number} for number, one in enumerate(_earlier(rows, window))]


def _told(execution: Execution, window: Window, over: bool) -> Dict[str, Any]:
    """What a row says of its execution. ``over``: a later execution is known."""
    state = execution.state
    made = {**state.as_result(), **_canceller(execution)}
    made.update((name, fields.plain(getattr(execution, name))) for name in _SAME)
    cause = cause_in_accounting(state, execution.node_list, execution.exit_code)
    if state.base is Base.NODE_FAIL:
        made.update(after_loss(window, execution.end_time))
    elif cause is Cause.REQUEUED and over:
        made.update(coarse_state=Coarse.ENDED.value, live=Answer.NO.value)
    elif state.coarse is not Coarse.ENDED:
        made.update(coarse_state=Coarse.UNKNOWN.value, live=Answer.UNKNOWN.value)
        cause = cause or Cause.UNKNOWN
    made["cause"] = fields.plain(cause)
    return made


def _canceller(execution: Execution) -> Dict[str, Any]:
    uid = execution.state.by_uid
    return {"cancelled_by_uid": uid, "cancelled_by": _user(uid)}


def _user(uid: Optional[int]) -> Optional[str]:
    """The name of a user on this host, None when there is none."""
    try:
        return None if uid is None else pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return None
