# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each action asks of a job, and what that means for the job as it was read. Pure.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import UNKNOWN
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hold import HOLD_BASE, hold_time
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import JobRecord
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import Marks
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import Coarse
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Outcome
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import (
    Address,
    Script,
    hold_script,
    open_script,
    release_script,
    requeue_only_script,
    requeue_script,
    restore_script,
)

#: So many ids go into one call at most: the argument stays far below the kernel's 131,072 bytes,
#: and a release looks each of them up in the script.
BATCH = 1000


@dataclass(frozen=True)
class Plan:
    """What is to be done about one job. ``outcome`` is None when something has to be sent."""

    job_id: str
    before: Optional[JobRecord]
    outcome: Optional[Outcome]
    reason: str
    failure: FailureClass = FailureClass.NONE
    begin: int = 0

    @property
    def sends(self) -> bool:
        """Whether anything is sent."""
        return self.outcome is None


@dataclass(frozen=True)
class Memory:
    """What the journal knows of one job: its own begin time before a hold, and a bit set by us."""

    begin: int = 0
    bit_set: bool = False


class Action:
    """One kind of write; what differs between the modules, and nothing else."""

    name = ""
    #: Whether the landing bound has to be known before anything is sent.
    needs_bound = True
    #: Whether slurmctld's "no error" means that it was done.
    believes_answer = True

    @property
    def number(self) -> int:
        """The hold's instance, 0 for an action that names none."""
        return 0

    def plan(self, job_id: str, record: JobRecord, memory: Memory) -> Plan:
        """Decide about a job that slurmctld showed."""
        raise NotImplementedError

    def scripts(self, plans: Sequence[Plan], marks: Marks) -> Sequence[Dispatch]:
        """The scripts that send these plans; ``marks`` stand in the rows of their reads."""
        raise NotImplementedError

    def aim(self, before: JobRecord) -> Dict[str, Any]:
        """What has to show afterwards, as JSON-safe values for :func:`in_effect`."""
        raise NotImplementedError

    def view(self, record: JobRecord) -> Dict[str, Any]:
        """The values of a job that this action changes, for before, after and the difference."""
        raise NotImplementedError

    def predicted(self, plan: Plan) -> Dict[str, Any]:
        """The view after the plan was carried out."""
        raise NotImplementedError


def in_effect(aim: Mapping[str, Any], record: JobRecord) -> Answer:
    """Whether a job shows what an action aimed at.

    EligibleTime is the witness of a hold: StartTime can show an old estimate for a while.
    """
    if "hold" in aim or "not_hold" in aim:
        if record.hold_instance == UNKNOWN:
            return Answer.UNKNOWN
        if "hold" in aim:
            return _answer(record.hold_instance == aim["hold"])
        return _answer(record.hold_instance != aim["not_hold"])
    if "gate_open" in aim:
        return {Answer.YES: Answer.NO, Answer.NO: Answer.YES}.get(record.gate, Answer.UNKNOWN)
    if "restarts_above" in aim:
        known = isinstance(record.restarts, int)
        return _answer(record.restarts > aim["restarts_above"]) if known else Answer.UNKNOWN
    return {Answer.YES: Answer.NO, Answer.NO: Answer.YES}.get(record.requeue, Answer.UNKNOWN)


def _answer(value: bool) -> Answer:
    return Answer.YES if value else Answer.NO


def _ended(job_id: str, record: JobRecord) -> Optional[Plan]:
    if record.state.coarse is not Coarse.ENDED:
        return None
    reason = "the job has ended (%s)" % record.state.word
    return Plan(job_id, record, Outcome.REJECTED, reason, FailureClass.JOB_FINISHED)


@dataclass(frozen=True)
class Dispatch:
    """A script, and whom it is about."""

    script: Script
    addresses: Tuple[Address, ...]


def addresses(plans: Sequence[Plan], joined: bool = True) -> List[Address]:
    """How scontrol is told about the records of these plans.

    The tasks of an array that were not split off are one record: addressed together they stay
    together, addressed one by one (not ``joined``) each becomes a job of its own.
    """
    found: List[Address] = []
    together: Dict[int, List[JobRecord]] = {}
    for plan in plans:
        record = plan.before
        if record is None:
            continue
        if joined and record.array_task_id is not None and record.job_id == record.array_job_id:
            together.setdefault(record.job_id, []).append(record)
        else:
            found.append(Address(plan.job_id, record.job_id, (plan.job_id,)))
    for number, records in together.items():
        tasks = sorted(one.array_task_id for one in records if one.array_task_id is not None)
        members = tuple(one.id_text for one in records)
        text = "%d_[%s]" % (number, spans_text(tasks)) if len(tasks) > 1 else members[0]
        found.append(Address(text, number, members))
    return found


def spans_text(tasks: Sequence[int]) -> str:
    """Sorted task numbers as ``1-4,9``."""
    parts: List[str] = []
    start = last = tasks[0]
    for task in [*tasks[1:], -1]:
        if task == last + 1:
            last = task
            continue
        parts.append(str(start) if start == last else "%d-%d" % (start, last))
        start = last = task
    return ",".join(parts)


def _batches(plans: Sequence[Plan], joined: bool = True) -> List[Tuple[Address, ...]]:
    all_of_them = addresses(plans, joined)
    return [
        tuple(all_of_them[start : start + BATCH]) for start in range(0, len(all_of_them), BATCH)
    ]


def _texts(batch: Sequence[Address]) -> List[str]:
    return [one.text for one in batch]


def _hold_view(record: JobRecord) -> Dict[str, Any]:
    return {"hold_instance": record.hold_instance, "begin_time": record.eligible_time}


@dataclass(frozen=True)
class Hold(Action):
    """Place the hold ``instance``."""

    instance: int
    name = "hold"

    def __post_init__(self) -> None:
        """Raises ValueError when the instance is out of range."""
        hold_time(self.instance)

    @property
    def number(self) -> int:
        """The instance."""
        return self.instance

    def plan(self, job_id: str, record: JobRecord, memory: Memory) -> Plan:
        """A higher instance in place is left alone, a lower one is replaced."""
        ended = _ended(job_id, record)
        if ended:
            return ended
        if record.state.coarse in (Coarse.RUNNING, Coarse.SUSPENDED):
            reason = "the job is not pending (%s)" % record.state.word
            return Plan(job_id, record, Outcome.REJECTED, reason, FailureClass.JOB_NOT_PENDING)
        placed = record.hold_instance
        if not isinstance(placed, int) and placed is not None:
            return Plan(job_id, record, Outcome.UNKNOWN, "its EligibleTime was not readable")
        if placed is not None and placed >= self.instance:
            same = placed == self.instance
            outcome = Outcome.UNCHANGED if same else Outcome.STALE
            reason = "instance %d %s in place" % (placed, "was already" if same else "is")
            return Plan(job_id, record, outcome, reason)
        own = record.eligible_time
        own = own if isinstance(own, int) and own < HOLD_BASE else 0
        begin = memory.begin if placed is not None else own
        return Plan(job_id, record, None, "instance %d placed" % self.instance, begin=begin)

    def scripts(self, plans: Sequence[Plan], marks: Marks) -> Sequence[Dispatch]:
        """One list call a batch."""
        return [
            Dispatch(hold_script(self.instance, _texts(batch)), batch) for batch in _batches(plans)
        ]

    def aim(self, before: JobRecord) -> Dict[str, Any]:
        """The instance is in place."""
        return {"hold": self.instance}

    def view(self, record: JobRecord) -> Dict[str, Any]:
        """Instance and begin time."""
        return _hold_view(record)

    def predicted(self, plan: Plan) -> Dict[str, Any]:
        """The instance, and the begin time that carries it."""
        return {"hold_instance": self.instance, "begin_time": hold_time(self.instance)}


@dataclass(frozen=True)
class Release(Action):
    """Lift the hold ``instance``, and put the job's own begin time back if it still lies ahead."""

    instance: int
    now: float
    name = "release"

    def __post_init__(self) -> None:
        """Raises ValueError when the instance is out of range."""
        hold_time(self.instance)

    @property
    def number(self) -> int:
        """The instance."""
        return self.instance

    def plan(self, job_id: str, record: JobRecord, memory: Memory) -> Plan:
        """Only the instance that is named is lifted."""
        ended = _ended(job_id, record)
        if ended:
            return ended
        placed = record.hold_instance
        if placed is None:
            return Plan(job_id, record, Outcome.UNCHANGED, "no hold was in place")
        if not isinstance(placed, int):
            return Plan(job_id, record, Outcome.UNKNOWN, "its EligibleTime was not readable")
        if placed != self.instance:
            reason = "instance %d is in place, not %d" % (placed, self.instance)
            return Plan(job_id, record, Outcome.STALE, reason)
        begin = memory.begin if memory.begin > self.now else 0
        reason = "instance %d lifted" % self.instance
        if begin:
            reason += ", the job's own begin time put back"
        return Plan(job_id, record, None, reason, begin=begin)

    def scripts(self, plans: Sequence[Plan], marks: Marks) -> Sequence[Dispatch]:
        """One list call a batch and a begin time."""
        by_begin: Dict[int, List[Plan]] = {}
        for plan in plans:
            by_begin.setdefault(plan.begin, []).append(plan)
        return [
            Dispatch(release_script(self.instance, begin, marks, batch), batch)
            for begin, group in by_begin.items()
            for batch in _batches(group)
        ]

    def aim(self, before: JobRecord) -> Dict[str, Any]:
        """The instance is not in place any more."""
        return {"not_hold": self.instance}

    def view(self, record: JobRecord) -> Dict[str, Any]:
        """Instance and begin time."""
        return _hold_view(record)

    def predicted(self, plan: Plan) -> Dict[str, Any]:
        """No instance; the time of a release can't be foretold."""
        return {"hold_instance": None, "begin_time": plan.begin or None}


@dataclass(frozen=True)
class Open(Action):
    """Open the gate that the job was submitted under."""

    name = "open"
    needs_bound = False

    def plan(self, job_id: str, record: JobRecord, memory: Memory) -> Plan:
        """No release is sent to a job that isn't held: it would reset its nice value."""
        ended = _ended(job_id, record)
        if ended:
            return ended
        if record.gate is Answer.NO:
            return Plan(job_id, record, Outcome.UNCHANGED, "the gate was open")
        if record.gate is Answer.UNKNOWN:
            return Plan(job_id, record, Outcome.UNKNOWN, "its state was not readable")
        return Plan(job_id, record, None, "the gate was opened")

    def scripts(self, plans: Sequence[Plan], marks: Marks) -> Sequence[Dispatch]:
        """One list call a batch."""
        return [Dispatch(open_script(_texts(batch)), batch) for batch in _batches(plans)]

    def aim(self, before: JobRecord) -> Dict[str, Any]:
        """The gate is open."""
        return {"gate_open": True}

    def view(self, record: JobRecord) -> Dict[str, Any]:
        """Whether the gate is closed."""
        return {"gate": record.gate.value}

    def predicted(self, plan: Plan) -> Dict[str, Any]:
        """The gate is open."""
        return {"gate": Answer.NO.value}


@dataclass(frozen=True)
class Requeue(Action):
    """End the execution that is named, and let the job run again.

    The execution is the one with ``restarts`` (the job's restart count), or, for many jobs, the one
    that was running before ``started_before`` (epoch seconds of slurmctld's clock).
    """

    restarts: Optional[int] = None
    started_before: Optional[int] = None
    suspended: bool = False
    name = "requeue"
    #: ``requeue incomplete`` answers so for jobs that it leaves alone.
    believes_answer = False

    def plan(self, job_id: str, record: JobRecord, memory: Memory) -> Plan:
        """A completed job is never restarted, a pending one has nothing to be ended."""
        ended = _ended(job_id, record)
        if ended:
            return ended
        older = self._not_the_one(job_id, record)
        if older:
            return older
        if record.state.coarse is Coarse.PENDING:
            return Plan(job_id, record, Outcome.UNCHANGED, "the job is pending")
        if record.state.coarse is Coarse.UNKNOWN:
            reason = "nothing is sent while the job is %s" % (record.state.raw or "in no state")
            return Plan(job_id, record, Outcome.REJECTED, reason, FailureClass.JOB_FINISHED)
        if record.state.coarse is Coarse.SUSPENDED and not self.suspended:
            reason = "the job is suspended: it would come back held by an operator"
            return Plan(job_id, record, Outcome.REJECTED, reason, FailureClass.REQUEUE_DISABLED)
        if record.het_job_id is not None:
            reason = "a heterogeneous job is requeued as a whole, which is not done here"
            return Plan(job_id, record, Outcome.REJECTED, reason, FailureClass.ID_MALFORMED)
        if record.batch is Answer.NO:
            reason = "only batch jobs can be requeued"
            return Plan(job_id, record, Outcome.REJECTED, reason, FailureClass.NOT_BATCH)
        if record.requeue is Answer.UNKNOWN or not isinstance(record.restarts, int):
            return Plan(job_id, record, Outcome.UNKNOWN, "its requeue bit was not readable")
        return Plan(job_id, record, None, "execution %d was ended" % record.restarts)

    def _not_the_one(self, job_id: str, record: JobRecord) -> Optional[Plan]:
        """The plan for a job whose execution is not the one that is named."""
        if self.restarts is not None:
            if not isinstance(record.restarts, int):
                return Plan(job_id, record, Outcome.UNKNOWN, "its restart count was not readable")
            if record.restarts > self.restarts:
                reason = "execution %d is over, %d is there" % (self.restarts, record.restarts)
                return Plan(job_id, record, Outcome.UNCHANGED, reason)
            if record.restarts < self.restarts:
                reason = "execution %d has not begun, %d is there" % (
                    self.restarts,
                    record.restarts,
                )
                return Plan(job_id, record, Outcome.REJECTED, reason)
        if self.started_before is not None and record.state.coarse is not Coarse.PENDING:
            if not isinstance(record.start_time, int):
                return Plan(job_id, record, Outcome.UNKNOWN, "its start time was not readable")
            if record.start_time >= self.started_before:
                return Plan(job_id, record, Outcome.UNCHANGED, "its execution began later")
        return None

    def scripts(self, plans: Sequence[Plan], marks: Marks) -> Sequence[Dispatch]:
        """A script of three calls for each job whose bit is off, list calls for the others."""
        ready = [plan for plan in plans if plan.before and plan.before.requeue is Answer.YES]
        others = [plan for plan in plans if plan not in ready]
        dispatches = [
            Dispatch(requeue_only_script(_texts(batch)), batch) for batch in _batches(ready)
        ]
        for batch in _batches(others, joined=False):
            dispatches += [Dispatch(requeue_script(one.text), (one,)) for one in batch]
        return dispatches

    def aim(self, before: JobRecord) -> Dict[str, Any]:
        """The restart count has risen."""
        return {"restarts_above": before.restarts}

    def view(self, record: JobRecord) -> Dict[str, Any]:
        """The restart count: the bit is put back to what it was."""
        return {"restarts": record.restarts}

    def predicted(self, plan: Plan) -> Dict[str, Any]:
        """One restart more."""
        before = plan.before.restarts if plan.before else None
        return {"restarts": before + 1 if isinstance(before, int) else UNKNOWN}


@dataclass(frozen=True)
class Restore(Action):
    """Clear a requeue bit that a requeue of ours left set; with ``force``, any."""

    force: bool = False
    name = "restore"

    def plan(self, job_id: str, record: JobRecord, memory: Memory) -> Plan:
        """A bit that was on before is left alone."""
        ended = _ended(job_id, record)
        if ended:
            return ended
        if record.requeue is Answer.NO:
            return Plan(job_id, record, Outcome.UNCHANGED, "the requeue bit was off")
        if record.requeue is Answer.UNKNOWN:
            return Plan(job_id, record, Outcome.UNKNOWN, "its requeue bit was not readable")
        if not (memory.bit_set or self.force):
            reason = "no requeue of this user on this host set the bit; force clears any"
            return Plan(job_id, record, Outcome.REJECTED, reason, FailureClass.REQUEUE_DISABLED)
        return Plan(job_id, record, None, "the requeue bit was cleared")

    def scripts(self, plans: Sequence[Plan], marks: Marks) -> Sequence[Dispatch]:
        """One list call a batch."""
        return [Dispatch(restore_script(_texts(batch)), batch) for batch in _batches(plans)]

    def aim(self, before: JobRecord) -> Dict[str, Any]:
        """The bit is off."""
        return {"bit_off": True}

    def view(self, record: JobRecord) -> Dict[str, Any]:
        """The bit."""
        return {"requeue": record.requeue.value}

    def predicted(self, plan: Plan) -> Dict[str, Any]:
        """The bit is off."""
        return {"requeue": Answer.NO.value}
