# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One result a job, and what they come to for the task. Pure. Private to the collection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    printable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import UNKNOWN
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import JobRecord
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import (
    Base,
    Coarse,
    parse_state,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.judge import Known, Proof
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import (
    GOOD,
    LEFT,
    Call,
    Outcome,
    Status,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import (
    Action,
    Plan,
    as_before,
    in_effect,
)

JobResult = Dict[str, Any]

#: Reasons of unknown outcomes of which nothing can land any more.
TAKEN_AND_GONE = "no error was reported, and it is not in effect: it was changed since, or not done"

#: Of a requeue that was answered, or seen, and does not show any more.
FORGOTTEN = "it is not in effect, though it was: slurmctld may have been killed meanwhile"

ENDED_AND_FORGOTTEN = "the job has ended and is not shown any more: by this call, or by itself"

#: The state of an array's task that left no trace.
NOT_SHOWN = "not shown"


def result(
    job_id: str,
    outcome: Outcome,
    reason: str,
    failure: FailureClass = FailureClass.NONE,
    message: str = "",
) -> JobResult:
    """A result with nothing read and nothing sent."""
    return {
        "job_id": job_id,
        "outcome": outcome.value,
        "changed": outcome is Outcome.APPLIED,
        "reason": printable(reason),
        "message": printable(message),
        "failure_class": failure.value,
        "before": None,
        "after": None,
        "calls": [],
        "settled": outcome is not Outcome.UNKNOWN,
        "may_land_until": None,
        "requeue_bit_left": Answer.NO.value,
    }


def without_bound(reason: str) -> str:
    """The reason of an unknown outcome where AuthType has no known landing bound."""
    return "%s; without a landing bound it may still land at any time" % reason


def planned(action: Action, plan: Plan) -> JobResult:
    """The result of a plan that sends nothing, and the prediction of one that would."""
    outcome = plan.outcome or Outcome.APPLIED
    made = result(plan.job_id, outcome, plan.reason, plan.failure)
    made["before"] = view(action, plan.before)
    made["after"] = dict(made["before"])
    if plan.sends:
        made["after"].update(action.predicted(plan))
    return made


@dataclass(frozen=True)
class Seen:
    """A job as slurmctld showed it afterwards.

    ``gone``: it was asked, and shows no such job. Neither: it could not be asked. ``left_array``:
    it is an array's task that is not shown, while its array is: pending tasks that are cancelled
    leave no trace, and every task that lives is shown.
    """

    record: Optional[JobRecord] = None
    gone: bool = False
    left_array: bool = False

    def shows(self, aim: Mapping[str, Any]) -> Answer:
        """Whether it shows what an action aimed at."""
        if self.record is not None:
            return in_effect(aim, self.record)
        return Answer.YES if self.left_array and "ending" in aim else Answer.UNKNOWN

    def view(self, action: Action) -> Optional[Dict[str, Any]]:
        """The job as the action shows it, None when it is not shown."""
        if self.record is not None:
            return view(action, self.record)
        gone = {"state": NOT_SHOWN, "ending": Answer.YES.value}
        return gone if self.left_array and action.ends else None


def judged(action: Action, plan: Plan, known: Known, seen: Seen) -> JobResult:
    """The result of a plan that was sent; UNKNOWN where nothing is proved yet."""
    if seen.record is not None and not seen.record.was_submitted_at(plan.before.submit_time):
        seen = Seen(gone=True)
    verdict = _Verdict(action, plan, known, seen)
    outcome, reason, failure = verdict.given()
    made = result(plan.job_id, outcome, reason, failure, known.message)
    bit = verdict.bit_left(outcome)
    made["changed"] = outcome is Outcome.APPLIED or bit is Answer.YES
    made["settled"] = outcome is not Outcome.UNKNOWN or verdict.final()
    made["before"] = view(action, plan.before)
    made["after"] = seen.view(action)
    made["calls"] = [{"call": call, "status": status} for call, status in known.calls]
    made["requeue_bit_left"] = bit.value
    _show_bit(made)
    return made


def _show_bit(made: JobResult) -> None:
    """Let before and after tell the bit where it was left set: only jobs without it get it."""
    if made["requeue_bit_left"] == Answer.YES.value:
        made["before"] = dict(made["before"] or {}, requeue=Answer.NO.value)
        made["after"] = dict(made["after"] or {}, requeue=Answer.YES.value)


_Given = Tuple[Outcome, str, FailureClass]


@dataclass(frozen=True)
class _Verdict:
    """What the script's proof and the job as it was seen afterwards say together."""

    action: Action
    plan: Plan
    known: Known
    seen: Seen

    def given(self) -> _Given:
        known, none = self.known, FailureClass.NONE
        if known.proof is Proof.REFUSED and known.outcome is not None:
            return known.outcome, known.message, known.failure
        effect = self._effect()
        if known.bit_left is Answer.YES and known.outcome is not None and not self.bit_off():
            over = "; the execution was ended" if effect is Answer.YES else ""
            return known.outcome, known.message + over, known.failure
        if known.proof is Proof.WITHHELD:
            return self._withheld(effect)
        if effect is Answer.YES:
            alone = _ended_alone(self.seen.record) if self.action.ends else ""
            if alone:
                return Outcome.UNCHANGED, alone, none
            if known.proof in (Proof.ANSWERED, Proof.NONE):
                return Outcome.APPLIED, self.plan.reason, none
            return Outcome.UNCHANGED, "it is in effect, though not by this call", none
        if known.proof is Proof.ANSWERED:
            return self._answered(effect)
        if known.outcome is not None:
            return known.outcome, known.message, known.failure
        reason = known.message or "it does not show, and nothing proves that it did not land"
        failure = FailureClass.UNCLASSIFIED if known.failure is none else known.failure
        return Outcome.UNKNOWN, reason, failure

    def final(self) -> bool:
        """Whether no later read can tell more: slurmctld has answered, and nothing can land now."""
        told = self.action.believes_answer or (self.action.ends and self.seen.gone)
        return told and self.known.proof is Proof.ANSWERED

    def bit_left(self, outcome: Outcome) -> Answer:
        """Whether the requeue bit was left set, by what was proved and by what was seen."""
        if self.known.bit_left is Answer.YES and self.bit_off():
            return Answer.NO
        if not self.bit_came_back():
            return self.known.bit_left
        # Where more reads follow, the last of them tells.
        return Answer.UNKNOWN if outcome is Outcome.UNKNOWN else Answer.YES

    def bit_off(self) -> bool:
        """Whether the bit was seen to be off after the last call came back."""
        return self.seen.record is not None and self.seen.record.requeue is Answer.NO

    def bit_came_back(self) -> bool:
        """Whether the bit was seen to be set after slurmctld had said that it was cleared."""
        cleared = self.known.bit_left is Answer.NO
        return cleared and _came_back(self.known.calls, self.seen.record)

    def _effect(self) -> Answer:
        return self.seen.shows(self.action.aim(self.plan.before))

    def _over(self) -> Optional[_Given]:
        """The job has left while it was to be changed, and nothing was."""
        if self.seen.gone:
            reason = "slurmctld does not show the job any more"
            return Outcome.NOT_FOUND, reason, FailureClass.JOB_UNKNOWN
        record = self.seen.record
        if record is not None and record.state.coarse is Coarse.ENDED:
            reason = "the job has ended (%s)" % record.state.word
            return Outcome.REJECTED, reason, FailureClass.JOB_FINISHED
        return None

    def _withheld(self, effect: Answer) -> _Given:
        """Nothing was sent: right before the call the job was not as it had been."""
        none, record = FailureClass.NONE, self.seen.record
        if effect is Answer.YES:
            return Outcome.UNCHANGED, "it is in effect, though not by this call", none
        over = self._over()
        if over:
            return over
        placed = None if record is None else record.hold_instance
        wanted = self.action.number
        if isinstance(placed, int) and wanted and placed != wanted:
            older = self.action.name == "hold" and placed < wanted
            if not older:
                return Outcome.STALE, "instance %d is in place, not %d" % (placed, wanted), none
        return Outcome.NOT_RUN, "nothing was sent: %s" % self.known.message, none

    def _answered(self, effect: Answer) -> _Given:
        """slurmctld reported no error, and the effect does not show."""
        none = FailureClass.NONE
        if self.action.believes_answer:
            if effect is Answer.UNKNOWN:
                return Outcome.APPLIED, self.plan.reason, none
            return Outcome.UNKNOWN, TAKEN_AND_GONE, none
        if self.action.ends and self.seen.gone:
            return Outcome.UNKNOWN, ENDED_AND_FORGOTTEN, none
        if effect is Answer.NO and self.bit_came_back():
            return Outcome.UNKNOWN, FORGOTTEN, none
        if effect is Answer.NO:
            reason = "slurmctld reported no error, and did nothing"
            return self._over() or (Outcome.NOT_APPLIED, reason, none)
        reason = "slurmctld reported no error, which does not prove that it did anything"
        return Outcome.UNKNOWN, reason, FailureClass.UNCLASSIFIED


def _came_back(calls: Sequence[Tuple[str, int]], record: Optional[JobRecord]) -> bool:
    """Whether a bit that these calls have set and cleared is seen to be set.

    Somebody has set it, or slurmctld was killed and has forgotten what it did last.
    """
    both = {(one.value, Status.SUCCESS) for one in (Call.SET_BIT, Call.CLEAR_BIT)}
    return both <= set(calls) and record is not None and record.requeue is Answer.YES


def _ended_alone(record: Optional[JobRecord]) -> str:
    """Why a job is none that was cancelled; "" where it may be."""
    if record is None or record.state.coarse is not Coarse.ENDED:
        return ""
    if record.state.base is Base.CANCELLED:
        return ""
    return "the job ended by itself meanwhile (%s)" % record.state.word


def ended(after: Optional[Mapping[str, Any]]) -> Answer:
    """Whether a job is over, its processes too, by its view."""
    if after is None:
        return Answer.UNKNOWN
    if after["state"] == NOT_SHOWN:
        return Answer.YES
    state = parse_state(after["state"])
    if state.live is Answer.YES or "COMPLETING" in state.flags:
        return Answer.NO
    return Answer.YES if state.live is Answer.NO else Answer.UNKNOWN


def view(action: Action, record: JobRecord) -> Dict[str, Any]:
    """What an action shows of a job before and after."""
    return dict(state=printable(record.state.raw), **action.view(record))


def settle(
    made: JobResult,
    aim: Mapping[str, Any],
    seen: Seen,
    over: bool,
    after: Optional[Mapping[str, Any]],
) -> JobResult:
    """An unknown result after one more read; ``over``: nothing can land any more.

    ``after`` is the view of the job, if it was read. A requeue whose bit may be left set goes on to
    the end: the bit may yet land.
    """
    settled = dict(made)
    record = seen.record
    if after is not None:
        settled["after"] = dict(after)
    if settled["requeue_bit_left"] == Answer.UNKNOWN.value:
        if not over:
            return settled
        bit = record.requeue if record is not None else Answer.UNKNOWN
        settled["requeue_bit_left"] = (Answer.NO if seen.gone else bit).value
        applied = settled["outcome"] == Outcome.APPLIED.value
        if applied and seen.shows(aim) is Answer.NO:
            settled.update(outcome=Outcome.UNKNOWN.value, reason=FORGOTTEN)
    if settled["outcome"] == Outcome.UNKNOWN.value:
        settled.update(_settled(aim, seen, over))
        alone = _ended_alone(record) if "ending" in aim else ""
        if alone:
            settled.update(outcome=Outcome.UNCHANGED.value, reason=alone)
    if settled["settled"] and settled["requeue_bit_left"] != Answer.UNKNOWN.value:
        settled["may_land_until"] = None
        calls = [(one["call"], one["status"]) for one in settled["calls"]]
        if _came_back(calls, record):
            settled["requeue_bit_left"] = Answer.YES.value
    settled["changed"] = (
        settled["outcome"] == Outcome.APPLIED.value
        or settled["requeue_bit_left"] == Answer.YES.value
    )
    _show_bit(settled)
    return settled


def _settled(aim: Mapping[str, Any], seen: Seen, over: bool) -> Dict[str, Any]:
    """What one more read makes of an unknown outcome; nothing when it leaves it open."""
    effect = seen.shows(aim)
    if effect is Answer.YES:
        return {
            "outcome": Outcome.APPLIED.value,
            "settled": True,
            "reason": "it was read back as being in effect",
            "failure_class": FailureClass.NONE.value,
        }
    if not over or (seen.record is None and not seen.gone):
        return {}
    if effect is Answer.NO and seen.record is not None and as_before(aim, seen.record):
        reason = "nothing can land any more, and the job is as it was before"
        return {"outcome": Outcome.NOT_APPLIED.value, "settled": True, "reason": reason}
    what = "shows no such job any more" if seen.gone else "does not show whether it took effect"
    if effect is Answer.NO:
        what = "shows neither the change nor the job as it was before: it was changed since"
    return {"settled": True, "reason": "nothing can land any more, and slurmctld %s" % what}


def failed(results: Sequence[JobResult], by_name: bool) -> List[JobResult]:
    """The results that fail the task; ``by_name``: the user named the jobs.

    Jobs that a selection chose and that left it in the meantime do not fail it.
    """
    allowed = {one.value for one in (GOOD if by_name else GOOD | LEFT)}
    return [
        one
        for one in results
        if one["outcome"] not in allowed or one["requeue_bit_left"] != Answer.NO.value
    ]


def difference(results: Sequence[JobResult]) -> Dict[str, Dict[str, Any]]:
    """What changed, by job, for diff mode: the same jobs on both sides."""
    sides: Dict[str, Dict[str, Any]] = {"before": {}, "after": {}}
    for one in results:
        if one["changed"] and one["before"] is not None:
            keys = [key for key in one["before"] if key != "state"]
            for side in ("before", "after"):
                seen = one[side] or {}
                sides[side][one["job_id"]] = {key: seen.get(key, UNKNOWN) for key in keys}
    return sides
