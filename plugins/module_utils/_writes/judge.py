# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a script's reports prove about each job. Pure. Private to the collection."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Dict, Optional, Sequence, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    printable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import (
    Call,
    Outcome,
    Status,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.reader import (
    CallReport,
    Unreadable,
    read_reports,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.refusals import read_answer
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import Script


class Proof(str, Enum):
    """What a call proves about one job."""

    #: slurmctld was told, and reported no error.
    ANSWERED = "answered"
    #: slurmctld decided, and changed nothing.
    REFUSED = "refused"
    #: The call was not started: too late, not startable, or nothing that it may be sent for.
    EXPIRED = "expired"
    NOT_RUN = "not_run"
    WITHHELD = "withheld"
    #: Nothing.
    NONE = "none"


@dataclass(frozen=True)
class Known:
    """What is known about one job from the script alone.

    ``outcome`` is set when that is all there is to know. ``bit_left`` says whether the requeue bit
    was left set; ``calls`` are kind and status of each call.
    """

    proof: Proof
    message: str = ""
    outcome: Optional[Outcome] = None
    failure: FailureClass = FailureClass.NONE
    bit_left: Answer = Answer.NO
    calls: Tuple[Tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Ended:
    """How a script ended: its exit status (None: its end was not seen), and what it printed."""

    script: Script
    nonce: str
    exit_status: Optional[int]
    stdout: bytes
    stderr: bytes


def judge(ended: Ended) -> Dict[str, Known]:
    """What is known about each id that was sent."""
    script = ended.script
    reports = read_reports(ended.stderr, ended.nonce, ended.exit_status)
    if isinstance(reports, Unreadable):
        nothing = Known(Proof.NONE, reports.reason, bit_left=_doubt(script))
        return dict.fromkeys(script.sent, nothing)
    calls = tuple((_call(script, one).value, one.status) for one in reports if _in(script, one))
    if len(script.calls) == 1:
        if len(reports) != 1 or reports[0].number != 1:
            wrong = Known(Proof.NONE, "the script reported the wrong calls")
            return dict.fromkeys(script.sent, wrong)
        found = judge_call(script.calls[0], reports[0], script.sent)
        if reports[0].status == Status.NOTHING_TO_SEND and not ended.stdout.strip():
            reason = "squeue showed nothing right before the call, and nothing was sent"
            unread = Known(Proof.NOT_RUN, reason, Outcome.NOT_RUN)
            found = dict.fromkeys(script.sent, unread)
    else:
        found = {one: _requeue(one, reports) for one in script.sent}
    return {one: replace(known, calls=calls) for one, known in found.items()}


def _in(script: Script, report: CallReport) -> bool:
    return report.number <= len(script.calls)


def _call(script: Script, report: CallReport) -> Call:
    return script.calls[report.number - 1]


def _doubt(script: Script) -> Answer:
    return Answer.UNKNOWN if Call.SET_BIT in script.calls else Answer.NO


def judge_call(call: Call, report: CallReport, sent: Sequence[str]) -> Dict[str, Known]:
    """What one call proves about each id."""
    status = report.status
    if status == Status.SUCCESS:
        return {one: Known(Proof.ANSWERED) for one in sent}
    alone = _not_started(call, status)
    if alone is not None:
        return dict.fromkeys(sent, alone)
    text = report.text.decode("utf-8", "surrogateescape")
    shown = printable(" / ".join(text.split("\n")).strip(" /"))
    if status != Status.ERROR:
        nothing = Known(Proof.NONE, shown or "the call ended with %d" % status)
        return dict.fromkeys(sent, nothing)
    answer = read_answer(call, text, sent)
    found: Dict[str, Known] = {}
    for one in sent:
        refusal = answer.refused.get(one)
        if refusal is not None:
            found[one] = Known(Proof.REFUSED, refusal.message, refusal.outcome, refusal.failure)
        else:
            found[one] = Known(Proof.NONE, answer.doubtful.get(one) or shown)
    return found


def _not_started(call: Call, status: int) -> Optional[Known]:
    if status == Status.EXPIRED:
        reason = "the deadline had passed before the call was started"
        return Known(Proof.EXPIRED, reason, Outcome.EXPIRED)
    if status in (Status.NOT_EXECUTABLE, Status.NOT_THERE):
        reason = "the command could not be started (%d)" % status
        return Known(Proof.NOT_RUN, reason, Outcome.NOT_RUN, FailureClass.COMMAND_MISSING)
    if status == Status.NOTHING_TO_SEND and call is Call.RELEASE:
        return Known(Proof.WITHHELD, "the hold in place was another one right before the call")
    return None


def _requeue(job_id: str, reports: Sequence[CallReport]) -> Known:
    """The combined result of set, requeue and clear (spec page, "A requeue's combined result")."""
    steps = {
        report.number: judge_call(call, report, (job_id,))[job_id]
        for report in reports
        for number, call in enumerate((Call.SET_BIT, Call.REQUEUE, Call.CLEAR_BIT), 1)
        if report.number == number
    }
    numbers = tuple(report.number for report in reports)
    first = steps.get(1)
    if first is not None and first.proof is Proof.EXPIRED and numbers == (1,):
        return first
    set_it = first is not None and first.proof is Proof.ANSWERED
    if first is None or numbers != ((1, 2, 3) if set_it else (1, 3)):
        reason = "the script reported the wrong calls; the requeue bit may be left set"
        return Known(Proof.NONE, reason, bit_left=Answer.UNKNOWN)
    if not set_it:
        return _bit_not_set(first)
    return _bit_set(steps[2], steps[3])


def _bit_not_set(first: Known) -> Known:
    if first.proof is not Proof.NONE:
        return first
    reason = "%s; the requeue bit may be left set" % first.message
    return replace(first, message=reason, bit_left=Answer.UNKNOWN)


def _bit_set(second: Known, third: Known) -> Known:
    gone = (FailureClass.JOB_FINISHED, FailureClass.JOB_UNKNOWN)
    if third.proof is Proof.ANSWERED or third.failure in gone:
        return second
    reason = "the requeue bit may be left set: %s" % third.message
    if third.proof in (Proof.EXPIRED, Proof.NOT_RUN) and second.proof is not Proof.NONE:
        # Nothing is unknown: the bit is set, whatever became of the requeue.
        reason = "the requeue bit is left set: %s" % third.message
        return Known(second.proof, reason, Outcome.NOT_RUN, third.failure, Answer.YES)
    return Known(Proof.NONE, reason, bit_left=Answer.UNKNOWN)
