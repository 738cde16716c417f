# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One result a job, and what they come to for the task. Pure. Private to the collection."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    printable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import JobRecord
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.judge import Known, Proof
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import (
    GOOD,
    LEFT,
    Outcome,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import (
    Action,
    Plan,
    in_effect,
)

JobResult = Dict[str, Any]


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


def planned(action: Action, plan: Plan) -> JobResult:
    """The result of a plan that sends nothing, and the prediction of one that would."""
    outcome = plan.outcome or Outcome.APPLIED
    made = result(plan.job_id, outcome, plan.reason, plan.failure)
    if plan.before is not None:
        made["before"] = _seen(action, plan.before)
        made["after"] = dict(made["before"])
        if plan.sends:
            made["after"].update(action.predicted(plan))
    return made


def judged(
    action: Action, plan: Plan, known: Known, after: Optional[JobRecord], read: bool
) -> JobResult:
    """The result of a plan that was sent; UNKNOWN where nothing is proved yet.

    ``after`` is the job as slurmctld showed it afterwards, None when it showed none or (``read`` is
    False) could not be asked.
    """
    assert plan.before is not None
    effect = Answer.UNKNOWN
    if after is not None and same_job(plan.before, after):
        effect = in_effect(action.aim(plan.before), after)
    outcome, reason = _outcome(action, plan, known, effect, after, read)
    failure = known.failure if outcome is known.outcome else FailureClass.NONE
    made = result(plan.job_id, outcome, reason, failure, known.message)
    made["before"] = _seen(action, plan.before)
    made["after"] = None if after is None else _seen(action, after)
    made["calls"] = [{"call": call, "status": status} for call, status in known.calls]
    made["requeue_bit_left"] = _bit_left(known, after).value
    return made


def same_job(before: JobRecord, after: JobRecord) -> bool:
    """Whether it is the job that was read before, and not a later one with its number.

    A requeue sets the submit time anew, to a later time.
    """
    if not isinstance(before.submit_time, int) or not isinstance(after.submit_time, int):
        return True
    return after.submit_time == before.submit_time or before.restarts != after.restarts


def _outcome(
    action: Action,
    plan: Plan,
    known: Known,
    effect: Answer,
    after: Optional[JobRecord],
    read: bool,
) -> Tuple[Outcome, str]:
    if known.bit_left is Answer.YES and known.outcome is Outcome.NOT_RUN:
        return Outcome.NOT_RUN, known.message
    if effect is Answer.YES and known.proof in (Proof.ANSWERED, Proof.NONE):
        return Outcome.APPLIED, plan.reason
    if effect is Answer.YES:
        return Outcome.UNCHANGED, "it is in effect, though not by this call"
    if known.outcome is not None:
        return known.outcome, known.message
    if known.proof is Proof.WITHHELD:
        return _withheld(action, after)
    if known.proof is Proof.ANSWERED and action.believes_answer:
        if not read:
            return Outcome.APPLIED, plan.reason
        if effect is Answer.NO:
            reason = "slurmctld took the change, and it is not in effect: it was changed since"
            return Outcome.NOT_APPLIED, reason
    if known.proof is Proof.ANSWERED and effect is Answer.NO:
        return Outcome.NOT_APPLIED, "slurmctld reported no error, and did nothing"
    reason = known.message or "it does not show, and nothing proves that it did not land"
    return Outcome.UNKNOWN, reason


def _withheld(action: Action, after: Optional[JobRecord]) -> Tuple[Outcome, str]:
    if after is None or after.hold_instance is None:
        return Outcome.UNCHANGED, "no hold was in place right before the call"
    if isinstance(after.hold_instance, int) and after.hold_instance != action.number:
        reason = "instance %d is in place, not %d" % (after.hold_instance, action.number)
        return Outcome.STALE, reason
    return Outcome.NOT_RUN, "the hold in place was another one right before the call"


def _bit_left(known: Known, after: Optional[JobRecord]) -> Answer:
    """A bit that was seen to be off after the last call came back is off."""
    if known.bit_left is Answer.YES and after is not None and after.requeue is Answer.NO:
        return Answer.NO
    return known.bit_left


def _seen(action: Action, record: JobRecord) -> Dict[str, Any]:
    return dict(state=printable(record.state.raw), **action.view(record))


def settle(
    made: JobResult, aim: Mapping[str, Any], record: Optional[JobRecord], over: bool
) -> JobResult:
    """An unknown result after one more read; ``over``: nothing can land any more.

    A requeue whose bit may be left set goes on until the bit is seen off, or the end.
    """
    settled = dict(made)
    effect = Answer.UNKNOWN if record is None else in_effect(aim, record)
    bit = Answer(made["requeue_bit_left"])
    if bit is Answer.UNKNOWN and over and record is not None:
        bit = record.requeue
    if bit is Answer.UNKNOWN and not over:
        return settled
    settled["requeue_bit_left"] = bit.value
    if effect is Answer.YES:
        settled.update(outcome=Outcome.APPLIED.value, changed=True, settled=True)
        settled.update(reason="it was read back as being in effect")
    elif over and effect is Answer.NO:
        reason = "nothing can land any more, and it is not in effect"
        settled.update(outcome=Outcome.NOT_APPLIED.value, settled=True, reason=reason)
    elif over and record is None:
        reason = "nothing can land any more, and slurmctld does not show the job"
        settled.update(outcome=Outcome.NOT_APPLIED.value, settled=True, reason=reason)
    return settled


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
                sides[side][one["job_id"]] = {key: seen.get(key) for key in keys}
    return sides
