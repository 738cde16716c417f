# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cancelling asks of a job. Pure. Private to the collection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import JobRecord
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import Marks
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import Coarse
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Outcome
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import (
    Action,
    Memory,
    Needs,
    Plan,
    addresses,
    batches,
    other_execution,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import (
    Address,
    Script,
    cancel_execution_script,
    cancel_script,
)


@dataclass(frozen=True)
class Cancel(Action):
    """End jobs for good: pending ones at once, others by SIGTERM, and SIGKILL after KillWait.

    ``restarts`` or ``started_before`` (epoch seconds of slurmctld's clock) name the execution that
    is meant, as for a requeue; neither: whichever is there.
    """

    restarts: Optional[int] = None
    started_before: Optional[int] = None
    name = "cancel"
    needs = Needs.CLOCKS
    #: scancel answers so for jobs that have ended and for jobs that it does not find.
    believes_answer = False
    #: Nothing that lands later brings a cancelled job back.
    waits = False
    ends = True

    @property
    def _names_execution(self) -> bool:
        return self.restarts is not None or self.started_before is not None

    def expected(self, record: JobRecord) -> str:
        """The number of the execution, if one is named."""
        return str(record.restarts) if self._names_execution else ""

    def plan(self, job_id: str, record: JobRecord, memory: Memory) -> Plan:
        """What has ended or is about to needs nothing; any other state can be cancelled."""
        coarse, word = record.state.coarse, record.state.raw
        if coarse is Coarse.ENDED:
            return Plan(job_id, record, Outcome.UNCHANGED, "the job had ended (%s)" % word)
        if record.ending is Answer.YES:
            return Plan(job_id, record, Outcome.UNCHANGED, "the job was ending (%s)" % word)
        other = other_execution(job_id, record, self.restarts, self.started_before)
        if other:
            return other
        if self.started_before is not None and coarse is Coarse.PENDING:
            reason = "the job is pending: none of its executions is there"
            return Plan(job_id, record, Outcome.UNCHANGED, reason)
        if self._names_execution and not isinstance(record.restarts, int):
            return Plan(job_id, record, Outcome.UNKNOWN, "its restart count was not readable")
        if record.het_job_id is not None and not memory.whole and _takes_others(record):
            reason = "the rest of its heterogeneous job would be cancelled too: name the leader"
            return Plan(job_id, record, Outcome.REJECTED, reason, FailureClass.ID_MALFORMED)
        reason = "the job has ended or is ending"
        return Plan(job_id, record, None, reason, whole=memory.whole)

    def scripts(self, plans: Sequence[Plan], marks: Marks) -> Sequence[Script]:
        """One list call a batch."""
        whole, others = self._whole_jobs(plans)
        done = batches(whole + addresses(others, self.expected))
        if self._names_execution:
            return [cancel_execution_script(marks, batch) for batch in done]
        return [cancel_script(batch) for batch in done]

    def _whole_jobs(self, plans: Sequence[Plan]) -> Tuple[List[Address], List[Plan]]:
        """Heterogeneous jobs that go as one, by their leaders; and the plans that are left."""
        groups: Dict[int, List[Plan]] = {}
        for plan in plans:
            if plan.whole and plan.before.het_job_id is not None:
                groups.setdefault(plan.before.het_job_id, []).append(plan)
        found: List[Address] = []
        taken: Set[str] = set()
        for number, group in groups.items():
            for leader in (plan.before for plan in group if plan.before.het_offset == 0):
                members = tuple(plan.job_id for plan in group)
                wanted = self.expected(leader)
                found.append(Address(str(number), number, members, expected=wanted))
                taken.update(members)
        return found, [plan for plan in plans if plan.job_id not in taken]

    def aim(self, before: JobRecord) -> Dict[str, Any]:
        """The job has ended or is about to."""
        return {"ending": True}

    def view(self, record: JobRecord) -> Dict[str, Any]:
        """Whether it has ended or is about to."""
        return {"ending": record.ending.value}

    def predicted(self, plan: Plan) -> Dict[str, Any]:
        """A job that never ran ends at once."""
        waits = plan.before.state.coarse is Coarse.PENDING
        return {"state": "CANCELLED" if waits else "COMPLETING", "ending": Answer.YES.value}


def _takes_others(record: JobRecord) -> bool:
    """Whether scancel can't end this component alone: seen on 22.05 to 26.05.

    A pending component is refused, but for the first, with which all of them are cancelled.
    """
    return record.state.coarse is Coarse.PENDING or record.het_offset == 0
