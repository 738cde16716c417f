# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each action asks of a job, and what that means for the job as it was read. Pure.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import UNKNOWN
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.fields import moment
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hold import HOLD_BASE, hold_time
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import JobRecord
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import Marks
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import Base, Coarse
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Outcome
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import (
    COME,
    Address,
    Script,
    hold_script,
    open_script,
    release_script,
    requeue_only_script,
    requeue_script,
    restore_script,
)

#: So many addresses, rows of their records, and characters go into one call at most: an argument
#: has to stay below the kernel's 131,072 bytes, and the script looks for each address in the rows.
BATCH = 1000
BATCH_ROWS = 2000
BATCH_TEXT = 100000
#: The longest name of several tasks of one array.
LONGEST_ADDRESS = 60000


@dataclass(frozen=True)
class Plan:
    """What is to be done about one job. ``outcome`` is None when something has to be sent.

    ``begin`` is the job's own begin time behind a hold (epoch seconds, 0 for none); ``whole`` says
    that a component is named together with the rest of its job; ``rows`` is how many rows of the
    job's record are as the action expects, of those that squeue shows: the tasks of an array share
    a record until they are split off; ``age_stopped`` says that a hold keeps the job from ageing.
    """

    job_id: str
    before: JobRecord
    outcome: Optional[Outcome]
    reason: str
    failure: FailureClass = FailureClass.NONE
    begin: int = 0
    rows: int = 1
    whole: bool = False
    age_stopped: bool = False

    @property
    def sends(self) -> bool:
        """Whether anything is sent."""
        return self.outcome is None

    @property
    def key(self) -> str:
        """The one name of the job in the journal, however it was called."""
        return self.before.id_text


@dataclass(frozen=True)
class Memory:
    """What is known of one job beside its record.

    From the journal: its own begin time before a hold of ours (None: no hold of it is known),
    whether a requeue of ours may have left its bit set, and the restart count of the last execution
    that a requeue of ours was to end. ``whole``: of a component's job, every component that has not
    ended is among the task's jobs.
    """

    begin: Optional[int] = None
    bit_set: bool = False
    requeued: Optional[int] = None
    whole: bool = False


class Needs(Enum):
    """What the preflight has to have answered before anything is sent."""

    NOTHING = "nothing"
    #: How far the clocks are apart. Without a landing bound, what is unknown stays so.
    CLOCKS = "clocks"
    #: And the landing bound is known.
    BOUND = "bound"
    #: And holds were seen to work.
    HOLD = "hold"


class Action:
    """One kind of write; what differs between the modules, and nothing else."""

    name = ""
    needs = Needs.BOUND
    #: Whether slurmctld's "no error" means that it was done.
    believes_answer = True
    #: Whether it waits for earlier writes of the job that may still land.
    waits = True
    #: Whether it ends jobs.
    ends = False
    #: squeue's fields that it looks at beside those of every record.
    reads: Tuple[str, ...] = ()

    @property
    def number(self) -> int:
        """The hold's instance, 0 for an action that names none."""
        return 0

    def plan(self, job_id: str, record: JobRecord, memory: Memory) -> Plan:
        """Decide about a job that slurmctld showed."""
        raise NotImplementedError

    def expected(self, record: JobRecord) -> str:
        """What a job's row has to show right before the call, as its script reads it."""
        return ""

    def scripts(self, plans: Sequence[Plan], marks: Marks) -> Sequence[Script]:
        """The scripts that send these plans; ``marks`` stand in the rows of their reads."""
        raise NotImplementedError

    def _batches(self, plans: Sequence[Plan]) -> List[Tuple[Address, ...]]:
        return batches(addresses(plans, self.expected))

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

    EligibleTime is the witness of a hold: StartTime can show an old estimate for a while. Where
    another instance is in place, a release may yet lift that one. A job that ended without having
    run does not tell whether it could have.
    """
    if "hold" in aim:
        if record.hold_instance == UNKNOWN:
            return Answer.UNKNOWN
        return _answer(record.hold_instance == aim["hold"])
    if "not_hold" in aim:
        if record.hold_instance == aim["not_hold"]:
            return Answer.NO
        free = record.hold_instance is None and not _may_not_have_run(record)
        return Answer.YES if free else Answer.UNKNOWN
    if "ending" in aim:
        return record.ending
    if "gate_open" in aim:
        return Answer.UNKNOWN if _may_not_have_run(record) else _opposite(record.gate)
    if "restarts_above" in aim:
        known = isinstance(record.restarts, int)
        return _answer(record.restarts > aim["restarts_above"]) if known else Answer.UNKNOWN
    return _opposite(record.requeue)


def as_before(aim: Mapping[str, Any], record: JobRecord) -> bool:
    """Whether a job that does not show what was aimed at shows what it did before.

    A begin time that is neither tells of a change that somebody has replaced or undone since, and
    that may have been ours. What the other actions aim at has no third value.
    """
    return "begin_time_before" not in aim or bool(record.eligible_time == aim["begin_time_before"])


def _answer(value: bool) -> Answer:
    return Answer.YES if value else Answer.NO


def _opposite(answer: Answer) -> Answer:
    return {Answer.YES: Answer.NO, Answer.NO: Answer.YES}.get(answer, Answer.UNKNOWN)


#: Ends that a job can come to only by running.
_RAN = (Base.COMPLETED, Base.FAILED, Base.TIMEOUT, Base.OUT_OF_MEMORY, Base.PREEMPTED)


def _may_not_have_run(record: JobRecord) -> bool:
    return record.state.coarse is Coarse.ENDED and record.state.base not in _RAN


def _begin_unknown(memory: Memory) -> str:
    """Said where a hold is replaced or lifted that was not placed by this user on this host."""
    if memory.begin is not None:
        return ""
    return "; if the job had a begin time of its own, it is not known here"


def _ended(job_id: str, record: JobRecord) -> Optional[Plan]:
    if record.state.coarse is not Coarse.ENDED:
        return None
    reason = "the job has ended (%s)" % record.state.word
    return Plan(job_id, record, Outcome.REJECTED, reason, FailureClass.JOB_FINISHED)


def other_execution(
    job_id: str, record: JobRecord, restarts: Optional[int], started_before: Optional[int]
) -> Optional[Plan]:
    """The plan for a job whose execution is not the one that is named, by one of the two."""
    if restarts is not None:
        if not isinstance(record.restarts, int):
            return Plan(job_id, record, Outcome.UNKNOWN, "its restart count was not readable")
        if record.restarts > restarts:
            reason = "execution %d is over, %d is there" % (restarts, record.restarts)
            return Plan(job_id, record, Outcome.UNCHANGED, reason)
        if record.restarts < restarts:
            reason = "execution %d has not begun, %d is there" % (restarts, record.restarts)
            return Plan(job_id, record, Outcome.REJECTED, reason)
    if started_before is not None and record.state.coarse is not Coarse.PENDING:
        if not isinstance(record.start_time, int):
            return Plan(job_id, record, Outcome.UNKNOWN, "its start time was not readable")
        if record.start_time >= started_before:
            return Plan(job_id, record, Outcome.UNCHANGED, "its execution began later")
    return None


#: What a job's rows have to show right before the call.
Expected = Callable[[JobRecord], str]


def addresses(plans: Sequence[Plan], expected: Expected) -> List[Address]:
    """How scontrol is told about the records of these plans.

    The tasks of an array that were not split off are one record: addressed together they stay
    together, addressed one by one each becomes a job of its own.
    """
    found: List[Address] = []
    together: Dict[int, List[Plan]] = {}
    for plan in plans:
        if _is_shared(plan.before):
            together.setdefault(plan.before.job_id, []).append(plan)
        else:
            found.append(_address(_text(plan), [plan], plan.rows, expected))
    for group in together.values():
        ordered = sorted(group, key=lambda plan: plan.before.array_task_id or 0)
        rows = ordered[0].rows
        for part in _parts(ordered):
            found.append(_address(_tasks_text(part), part, rows, expected))
            rows -= len(part)  # they have left the record when the next part is sent
    return found


def _is_shared(record: JobRecord) -> bool:
    return record.array_task_id is not None and record.job_id == record.array_job_id


def _text(plan: Plan) -> str:
    """A record's own number if the user gave that, and otherwise its one name."""
    raw = str(plan.before.job_id)
    leads = plan.before.job_id == plan.before.het_job_id
    return raw if plan.job_id == raw and not leads else plan.key


def _address(text: str, plans: Sequence[Plan], rows: int, expected: Expected) -> Address:
    first = plans[0].before
    tasks = [plan.before.array_task_id for plan in plans]
    return Address(
        text=text,
        number=first.job_id,
        members=tuple(plan.job_id for plan in plans),
        rows=rows,
        expected=expected(first),
        array=first.array_job_id if tasks[0] is not None else None,
        tasks=tuple(task for task in tasks if task is not None),
    )


def _tasks_text(plans: Sequence[Plan]) -> str:
    tasks = [plan.before.array_task_id or 0 for plan in plans]
    if len(tasks) == 1:
        return plans[0].key
    return "%d_[%s]" % (plans[0].before.job_id, spans_text(tasks))


def _parts(plans: List[Plan]) -> Iterator[List[Plan]]:
    """All of them, or as many at a time as one name may be long."""
    if len(_tasks_text(plans)) <= LONGEST_ADDRESS:
        yield plans
        return
    half = len(plans) // 2
    yield from _parts(plans[:half])
    yield from _parts(plans[half:])


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


def batches(found: Sequence[Address]) -> List[Tuple[Address, ...]]:
    """Addresses in order, as many at a time as one call takes; parts of one record apart."""
    done: List[Tuple[Address, ...]] = []
    batch: List[Address] = []
    numbers: Dict[int, int] = {}
    text = 0
    for one in found:
        full = len(batch) == BATCH or text + len(one.text) >= BATCH_TEXT
        full = full or sum(numbers.values()) + one.rows > BATCH_ROWS
        if batch and (full or one.number in numbers):
            done.append(tuple(batch))
            batch, numbers, text = [], {}, 0
        batch.append(one)
        numbers[one.number] = one.rows
        text += len(one.text) + 1
    return done + ([tuple(batch)] if batch else [])


def _hold_view(record: JobRecord) -> Dict[str, Any]:
    return {"hold_instance": record.hold_instance, "begin_time": record.eligible_time}


@dataclass(frozen=True)
class Hold(Action):
    """Place the hold ``instance``."""

    instance: int
    now: float
    needs = Needs.HOLD
    name = "hold"

    def __post_init__(self) -> None:
        """Raises ValueError when the instance is out of range."""
        hold_time(self.instance)

    @property
    def number(self) -> int:
        """The instance."""
        return self.instance

    def expected(self, record: JobRecord) -> str:
        """The begin time that the plan was made for: the job's own one would be lost otherwise."""
        own = record.eligible_time
        return str(own) if isinstance(own, int) and own > self.now else COME

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
        reason = "instance %d placed" % self.instance
        own: Any = record.eligible_time
        if placed is not None:
            own = memory.begin
            reason += _begin_unknown(memory)
        return Plan(job_id, record, None, reason, begin=own if isinstance(own, int) else 0)

    def scripts(self, plans: Sequence[Plan], marks: Marks) -> Sequence[Script]:
        """One list call a batch."""
        return [hold_script(self.instance, marks, batch) for batch in self._batches(plans)]

    def aim(self, before: JobRecord) -> Dict[str, Any]:
        """The instance is in place."""
        return {"hold": self.instance, "begin_time_before": before.eligible_time}

    def view(self, record: JobRecord) -> Dict[str, Any]:
        """Instance and begin time."""
        return _hold_view(record)

    def predicted(self, plan: Plan) -> Dict[str, Any]:
        """The instance, and the begin time that carries it."""
        return {"hold_instance": self.instance, "begin_time": hold_time(self.instance)}


def age_stopped(record: JobRecord) -> bool:
    """Whether the job grows older from a hold's far future on, so that it never does.

    Slurm sets AccrueTime once, from the begin time that it finds. For a job that could not start
    before it was held, since it waited for another one or was held by its owner, that is the
    hold's, and the release does not change it (seen on 22.05.8 and 26.05.5).
    """
    since = moment(record.extra.get("AccrueTime", ""))
    return isinstance(since, int) and since >= HOLD_BASE


@dataclass(frozen=True)
class Release(Action):
    """Lift the hold ``instance``, and put the job's own begin time back if it still lies ahead."""

    instance: int
    now: float
    needs = Needs.HOLD
    name = "release"
    reads = ("AccrueTime",)

    def __post_init__(self) -> None:
        """Raises ValueError when the instance is out of range."""
        hold_time(self.instance)

    @property
    def number(self) -> int:
        """The instance."""
        return self.instance

    def expected(self, record: JobRecord) -> str:
        """The begin time that carries the instance."""
        return str(record.eligible_time)

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
        begin = memory.begin if memory.begin is not None and memory.begin > self.now else 0
        reason = "instance %d lifted" % self.instance + _begin_unknown(memory)
        if begin:
            reason += ", the job's own begin time put back"
        aged = age_stopped(record)
        return Plan(job_id, record, None, reason, begin=begin, age_stopped=aged)

    def scripts(self, plans: Sequence[Plan], marks: Marks) -> Sequence[Script]:
        """One list call a batch, a begin time, and what becomes of the age."""
        alike: Dict[Tuple[int, bool], List[Plan]] = {}
        for plan in plans:
            alike.setdefault((plan.begin, plan.age_stopped), []).append(plan)
        return [
            release_script(begin, marks, batch, anew)
            for (begin, anew), group in alike.items()
            for batch in self._batches(group)
        ]

    def aim(self, before: JobRecord) -> Dict[str, Any]:
        """The instance is not in place any more."""
        return {"not_hold": self.instance, "begin_time_before": before.eligible_time}

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
    needs = Needs.NOTHING

    def expected(self, record: JobRecord) -> str:
        """The priority, which is 0."""
        return str(record.priority)

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

    def scripts(self, plans: Sequence[Plan], marks: Marks) -> Sequence[Script]:
        """One list call a batch."""
        return [open_script(marks, batch) for batch in self._batches(plans)]

    def aim(self, before: JobRecord) -> Dict[str, Any]:
        """The gate is open."""
        return {"gate_open": True, "begin_time_before": before.eligible_time}

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

    def expected(self, record: JobRecord) -> str:
        """The number of the execution that the plan was made for."""
        return str(record.restarts)

    def plan(self, job_id: str, record: JobRecord, memory: Memory) -> Plan:
        """A completed job is never restarted, a pending one has nothing to be ended."""
        ended = _ended(job_id, record)
        if ended:
            return ended
        other = other_execution(job_id, record, self.restarts, self.started_before)
        other = other or self._not_running(job_id, record, memory)
        if other:
            return other
        if record.het_job_id is not None:
            reason = "a heterogeneous job is requeued as a whole, which is not done here"
            return Plan(job_id, record, Outcome.REJECTED, reason, FailureClass.ID_MALFORMED)
        if record.batch is Answer.NO:
            reason = "only batch jobs can be requeued"
            return Plan(job_id, record, Outcome.REJECTED, reason, FailureClass.NOT_BATCH)
        if record.requeue is Answer.UNKNOWN or not isinstance(record.restarts, int):
            return Plan(job_id, record, Outcome.UNKNOWN, "its requeue bit was not readable")
        return Plan(job_id, record, None, "execution %d was ended" % record.restarts)

    def _not_running(self, job_id: str, record: JobRecord, memory: Memory) -> Optional[Plan]:
        """The plan for a job that is in no state to be requeued.

        A completing job may have been requeued or may be about to end: its state doesn't tell.
        """
        coarse = record.state.coarse
        if coarse is Coarse.PENDING:
            return Plan(job_id, record, Outcome.UNCHANGED, "the job is pending")
        if coarse is Coarse.UNKNOWN:
            before, now = memory.requeued, record.restarts
            if before is not None and isinstance(now, int) and now > before:
                reason = "execution %d was ended by an earlier requeue" % before
                return Plan(job_id, record, Outcome.UNCHANGED, reason)
            reason = "nothing is sent while the job is %s" % (record.state.raw or "in no state")
            return Plan(job_id, record, Outcome.REJECTED, reason, FailureClass.JOB_FINISHED)
        if coarse is Coarse.SUSPENDED and not self.suspended:
            reason = "the job is suspended: it would come back held by an operator"
            return Plan(job_id, record, Outcome.REJECTED, reason, FailureClass.REQUEUE_DISABLED)
        return None

    def scripts(self, plans: Sequence[Plan], marks: Marks) -> Sequence[Script]:
        """A script of three calls for each job whose bit is off, list calls for the others."""
        ready = [plan for plan in plans if plan.before.requeue is Answer.YES]
        others = [plan for plan in plans if plan.before.requeue is not Answer.YES]
        alone = [one for plan in others for one in addresses([plan], self.expected)]
        return [requeue_only_script(marks, batch) for batch in self._batches(ready)] + [
            requeue_script(marks, one) for one in alone
        ]

    def aim(self, before: JobRecord) -> Dict[str, Any]:
        """The restart count has risen."""
        return {"restarts_above": before.restarts}

    def view(self, record: JobRecord) -> Dict[str, Any]:
        """The restart count: the bit is put back to what it was."""
        return {"restarts": record.restarts}

    def predicted(self, plan: Plan) -> Dict[str, Any]:
        """One restart more."""
        before = plan.before.restarts
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

    def scripts(self, plans: Sequence[Plan], marks: Marks) -> Sequence[Script]:
        """One list call a batch."""
        return [restore_script(batch) for batch in self._batches(plans)]

    def aim(self, before: JobRecord) -> Dict[str, Any]:
        """The bit is off."""
        return {"bit_off": True}

    def view(self, record: JobRecord) -> Dict[str, Any]:
        """The bit."""
        return {"requeue": record.requeue.value}

    def predicted(self, plan: Plan) -> Dict[str, Any]:
        """The bit is off."""
        return {"requeue": Answer.NO.value}
