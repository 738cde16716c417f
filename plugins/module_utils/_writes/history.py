# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the journal's entries mean for a job as it was read. Pure. Private to the collection."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import (
    IdKind,
    JobId,
    parse_job_id,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import (
    JobLookup,
    JobRecord,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import Coarse
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.journal import (
    Entry,
    bits_in_doubt,
    holds,
    requeues,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Outcome
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import (
    Action,
    Memory,
    Plan,
    in_effect,
)


class History:
    """What this user's earlier runs on this host did to the jobs of one cluster."""

    def __init__(self, entries: Sequence[Entry], cluster: str, now: float) -> None:
        """``now`` is the host's clock in epoch seconds."""
        mine = [one for one in entries if one.cluster == cluster]
        self._holds = {job: one for (_cluster, job), one in holds(mine).items()}
        self._bits = {job: one for (_cluster, job), one in bits_in_doubt(mine).items()}
        self._requeues = {job: one for (_cluster, job), one in requeues(mine).items()}
        self._cancels = {one.job_id: one for one in mine if one.action == "cancel"}
        self._flying: Dict[str, List[Entry]] = {}
        self._now = now
        for one in mine:
            if one.in_flight(now):
                self._flying.setdefault(one.job_id, []).append(one)

    def memory(self, record: JobRecord) -> Memory:
        """What is known of a job."""
        held = self._holds.get(record.id_text)
        requeued = self._requeues.get(record.id_text)
        return Memory(
            begin=held.begin
            if held is not None and record.was_submitted_at(held.submitted)
            else None,
            bit_set=record.id_text in self._bits,
            requeued=None if requeued is None else requeued.restarts,
        )

    def flying(self, action: Action, plan: Plan) -> Optional[Entry]:
        """An earlier write of the job that may still land, and matters for the plan.

        A read that shows its effect has settled it. What has ended can't be changed any more.
        """
        if plan.outcome is Outcome.UNKNOWN or plan.before.state.coarse is Coarse.ENDED:
            return None
        if not action.waits:
            return None
        entries = [one for one in self._flying.get(plan.key, ()) if not landed(one, plan.before)]
        if not entries:
            return None
        same = all((one.action, one.instance) == (action.name, action.number) for one in entries)
        if same and plan.outcome is Outcome.UNCHANGED:
            return None  # the very same change can't undo what is there
        return max(entries, key=lambda one: one.until)

    def landed(self, plans: Sequence[Plan]) -> Dict[str, Dict[str, str]]:
        """The earlier writes that the jobs as read show to have landed, for the journal."""
        outcomes: Dict[str, Dict[str, str]] = {}
        for plan in plans:
            for one in self._flying.get(plan.key, ()):
                if landed(one, plan.before):
                    outcomes.setdefault(one.nonce, {})[plan.key] = Outcome.APPLIED.value
        return outcomes

    def ended_tasks(self, lookup: JobLookup) -> List[str]:
        """The tasks asked for that are not shown though their array is, and that a cancelling of
        ours named: they were there then.

        None when nothing of the id is shown, and others of its tasks are not known.
        """
        submitted = {row.submit_time for row in array_rows(lookup)}
        shown = {record.id_text for record in lookup.records}
        tasks = []
        for job_id, entry in self._cancels.items():
            known = entry.submitted is None or entry.submitted in submitted
            named = job_id not in shown and covers(lookup.asked, parse_job_id(job_id))
            if submitted and known and named:
                tasks.append(job_id)
        return tasks if shown or len(tasks) == lookup.asked.task_count else []

    def bits(self) -> List[Entry]:
        """Requeues and restores after which a bit may be set, and that can't set it any more."""
        return [one for one in self._bits.values() if not one.in_flight(self._now)]

    def stays_off(self, entry: Entry) -> bool:
        """Whether a bit that is seen off now is so for good: slurmctld has long saved its state."""
        return self._now >= entry.until


def array_rows(lookup: JobLookup) -> Sequence[JobRecord]:
    """What slurmctld shows of the array that tasks belong to; nothing for other ids."""
    number, tasks = lookup.asked.job, (IdKind.ARRAY_TASK, IdKind.ARRAY_TASKS)
    if not lookup.trusted or lookup.asked.kind not in tasks:
        return ()
    return [
        row
        for rows in lookup.rows.values()
        for row in rows
        if number in (row.job_id, row.array_job_id)
    ]


def covers(asked: JobId, task: JobId) -> bool:
    """Whether an id of tasks names a task."""
    if task.kind is not IdKind.ARRAY_TASK or task.task is None:
        return False
    return asked.job == task.job and asked.names_task(task.task)


def landed(entry: Entry, record: JobRecord) -> bool:
    """Whether a job shows the effect of one call.

    A requeue of three calls may have one of them yet to come.
    """
    aims: Dict[str, Mapping[str, Any]] = {
        "hold": {"hold": entry.instance},
        "release": {"not_hold": entry.instance},
        "open": {"gate_open": True},
        "restore": {"bit_off": True},
        "cancel": {"ending": True},
    }
    if entry.restarts is not None:
        aims["requeue_only"] = {"restarts_above": entry.restarts}
    aim = aims.get(entry.action)
    return aim is not None and in_effect(aim, record) is Answer.YES
